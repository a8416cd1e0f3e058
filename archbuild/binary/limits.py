"""How much a file may ask of its reader before it is refused, with the reasons."""

from __future__ import annotations

#: Bytes read or inflated at a time.
CHUNK = 1 << 18

#: Bytes of a stream that are kept behind the place of reading. The names of an
#: ELF file's sections lie close before its section table, so this spares a second pass.
HISTORY = 1 << 20

#: How often one stream may be begun again to read something further back.
REOPENS = 8

#: Bytes of one image that are held in memory; a longer one goes to a temporary file.
HELD = 1 << 26

#: Images in one file. The largest libraries known hold some ten thousand; each costs
#: about a kilobyte of memory here.
IMAGES = 250_000

#: Kernels in one image, and symbols in one table: 24 bytes each in the file.
SYMBOLS = 2_000_000

#: Bytes of one table inside a file: section table, names of sections, symbols.
TABLE = 1 << 27

#: Bytes of an image whose compression can only be undone as a whole (LZ4): more than
#: any image known, and what a small machine can hold.
WHOLE = 1 << 29

#: Bytes of one PTX text.
TEXT = 1 << 29

#: Bytes of one manifest beside a library: room for some thousand sources.
MANIFEST = 1 << 20

#: Bytes of all manifests in one path together.
MANIFESTS = 1 << 24

#: Members of one archive, wheel or folder.
MEMBERS = 1_000_000
