#include <iostream>
#include <vector>

#include "dots.h"

int main() {
  const std::vector<float> x(1000, 2.0f), y(1000, 3.0f);
  float sum = 0.0f;
  const char* error = dot(static_cast<int>(x.size()), x.data(), y.data(), &sum);
  if (error != nullptr) {
    std::cerr << "demo: " << error << "\n";
    return 1;
  }
  std::cout << sum << "\n";
}
