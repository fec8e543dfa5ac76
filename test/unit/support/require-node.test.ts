import { describe, expect, it } from 'vitest';
import { requireNode } from '../../support/require-node.ts';

const SUPPORTED = '^24.14.1 || >=26.0.0';

describe('the Node that runs the tests', () => {
  it.each(['24.14.1', '24.15.0', '24.100.0', '26.0.0', '26.10.0', '28.1.2'])('may be %s', (version) => {
    expect(() => requireNode(version, SUPPORTED)).not.toThrow();
  });

  it.each(['20.20.2', '24.9.0', '24.14.0', '25.1.0'])('may not be %s, with advice', (version) => {
    expect(() => requireNode(version, SUPPORTED)).toThrow(
      `The tests of Slipway need Node.js ${SUPPORTED}, and this is ${version}. Put the Node of this checkout first: PATH="$(scripts/setup.sh development):$PATH"`,
    );
  });
});
