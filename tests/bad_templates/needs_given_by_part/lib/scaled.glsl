// x * factor(). A factor is what the includer says.
$needs float factor()
$gives float scaled(float x)

float product(float x, float y) { return x * y; }
float scaled(float x) { return product(x, factor()); }

$part factor
$gives float factor()
float factor() { return problem.factor; }
