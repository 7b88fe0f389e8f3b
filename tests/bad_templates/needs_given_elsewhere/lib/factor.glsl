$gives float factor()
float factor() { return problem.factor; }
