import { describe, expect, it } from 'vitest';
import { closestName } from '../../../../src/platform/config/closest-name.ts';

const NAMES = ['listen.port', 'listen.host', 'publicBaseUrl', 'kind', 'e'];

describe('closestName', () => {
  it.each([
    ['listen.prot', 'listen.port'],
    ['listen.hosts', 'listen.host'],
    ['publicbaseurl', 'publicBaseUrl'],
    ['publicBaseURI', 'publicBaseUrl'],
    ['kidn', 'kind'],
    ['colour', null],
    ['x', null],
    ['', null],
    ['listen.port'.repeat(100), null],
  ])('%s means %s', (written, meant) => {
    expect(closestName(written, NAMES)).toBe(meant);
  });
});
