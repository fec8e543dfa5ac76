import { describe, expect, it } from 'vitest';
import { chooseCoding } from '../../../../src/domain/http/content-coding.ts';

const AVAILABLE = ['br', 'gzip'] as const;

describe('the coding of an answer', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP ; Q=0.3', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['br;q=2, gzip;q=x', 'identity'],
    ['identity;q=0', 'identity'],
    ['deflate', 'identity'],
    ['br;q=0.0001', 'identity'],
    [',,gzip,', 'gzip'],
  ])('for %s is %s', (header, coding) => {
    expect(chooseCoding(header, AVAILABLE)).toBe(coding);
  });
});
