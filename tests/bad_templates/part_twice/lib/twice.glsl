// x times or plus the factor
$part product
${glsl_type(f32, vec)} scaled(${glsl_type(f32, vec)} x) { return x * problem.factor; }

$part product
${glsl_type(f32, vec)} raised(${glsl_type(f32, vec)} x) { return x + problem.factor; }

$part
