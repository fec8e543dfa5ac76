import { describe, expect, it } from 'vitest';
import { actionDefinition, CONTROL_ACTIONS } from '../../../../src/contract/actions/actions.ts';
import { ProblemSchema } from '../../../../src/contract/problems/problem-schema.ts';
import { isProblemCode, PROBLEMS } from '../../../../src/contract/problems/problems.ts';

const catalogue = Object.entries(PROBLEMS);

describe('the problem catalogue', () => {
  it.each(catalogue)('documents %s', (code, { status, title, description }) => {
    expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
    expect(title).toMatch(/^[A-Z]/);
    expect(description).toMatch(/\.$/);
  });

  it('covers every status of the specification', () => {
    const statuses = new Set<number>(catalogue.map(([, { status }]) => status));
    expect([400, 401, 403, 409, 501, 502, 503].filter((status) => !statuses.has(status))).toEqual([]);
  });

  it('gives each title to one code', () => {
    const titles = catalogue.map(([, { title }]) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('holds every code of a refused action', () => {
    const codes = CONTROL_ACTIONS.flatMap((action) => actionDefinition(action).errors);
    expect(codes.filter((code) => !isProblemCode(code))).toEqual([]);
  });

  it('accepts only its own codes', () => {
    expect(isProblemCode('not_found')).toBe(true);
    expect(isProblemCode('toString')).toBe(false);
  });
});

describe('the problem body', () => {
  const body = {
    type: 'about:blank',
    title: 'Not distributable',
    status: 503,
    detail: 'wait',
    instance: 'r1',
    code: 'not_distributable',
  };

  it('accepts the members of RFC 9457 and of the catalogue', () => {
    expect(ProblemSchema.safeParse({ ...body, reason: 'EntryDamaged' }).success).toBe(true);
    expect(ProblemSchema.safeParse({ ...body, daemon: { status: null, code: null } }).success).toBe(true);
    expect(ProblemSchema.safeParse({ ...body, errors: [{ pointer: '/a', message: 'b' }] }).success).toBe(
      true,
    );
  });

  it.each([{ reason: 'Nope' }, { status: 200 }, { code: undefined }, { errors: [{}] }])(
    'refuses %j',
    (change) => {
      expect(ProblemSchema.safeParse({ ...body, ...change }).success).toBe(false);
    },
  );
});
