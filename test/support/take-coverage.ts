/** Writes what V8 counted to the folder of NODE_V8_COVERAGE after each test file, because vitest kills its workers at the end. */
import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => {
  takeCoverage();
});
