import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createUlidFactory, requestId } from '../../../../src/platform/process/ids.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

describe('createUlidFactory', () => {
  it('encodes time and randomness as the specification does', () => {
    const create = createUlidFactory({
      clock: new FakeClock(1_469_918_176_385),
      randomBytes: (count) => new Uint8Array(count).fill(31),
    });
    expect(create()).toBe('01ARYZ6S41ZZZZZZZZZZZZZZZZ');
  });

  it('is strictly increasing, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 200 }), (steps) => {
        const clock = new FakeClock();
        const create = createUlidFactory({ clock, randomBytes });
        const ids = steps.map((step) => {
          clock.jumpTo(clock.now() + step);
          return create();
        });
        expect(ids.every((id) => ULID.test(id))).toBe(true);
        expect(ids).toEqual([...new Set(ids)].sort());
      }),
    );
  });

  it('borrows the next millisecond when the randomness is used up', () => {
    const clock = new FakeClock(1_469_918_176_385);
    const create = createUlidFactory({ clock, randomBytes: (count) => new Uint8Array(count).fill(255) });
    expect([create(), create()]).toEqual(['01ARYZ6S41ZZZZZZZZZZZZZZZZ', '01ARYZ6S42ZZZZZZZZZZZZZZZZ']);
  });

  it('carries into the next digit', () => {
    const bytes = new Uint8Array(16);
    bytes[15] = 31;
    const create = createUlidFactory({ clock: new FakeClock(0), randomBytes: () => bytes });
    expect([create(), create()]).toEqual(['0000000000000000000000000Z', '00000000000000000000000010']);
  });
});

describe('requestId', () => {
  it.each(['01ARYZ6S41ZZZZZZZZZZZZZZZZ', 'a1b2c3d4', '3f2c9d2e-1111-2222-3333-444455556666'])(
    'keeps %s',
    (id) => {
      expect(requestId(id, () => 'new')).toBe(id);
    },
  );

  it.each([
    undefined,
    '',
    'short',
    'line\nbreak-line',
    '"quoted-quoted"',
    'x'.repeat(65),
    '-dash-first',
    ['a1b2c3d4', 'a1b2c3d4'],
  ])('replaces %j', (received) => {
    expect(requestId(received, () => 'new')).toBe('new');
  });
});
