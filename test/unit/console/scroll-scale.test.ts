import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  follow,
  MAX_SPACE,
  placeAt,
  rowAfterKey,
  spaceOf,
  topToShow,
  windowAt,
  type Place,
} from '../../../src/console/components/scroll-scale.ts';

const ROW = 36;
const VIEWPORT = 600;
const LONG = { content: 1_000_000 * ROW, viewport: VIEWPORT };
const START: Place = { top: 0, scrollTop: 0 };
const RANGE = MAX_SPACE - VIEWPORT;

describe('the scroll bar of a long list', () => {
  it('is the list itself while a browser can draw it', () => {
    const extent = { content: 100 * ROW, viewport: VIEWPORT };
    expect(spaceOf(extent)).toBe(3600);
    expect(follow(extent, START, 1234)).toEqual({ top: 1234, scrollTop: 1234 });
    expect(placeAt(extent, 9999)).toEqual({ top: 3000, scrollTop: 3000 });
    expect(placeAt({ content: 100, viewport: VIEWPORT }, 50)).toEqual({ top: 0, scrollTop: 0 });
  });

  it('moves in proportion when it is dragged, and reaches both ends', () => {
    expect(spaceOf(LONG)).toBe(MAX_SPACE);
    const middle = follow(LONG, START, RANGE / 2);
    expect(middle.top).toBe((LONG.content - VIEWPORT) / 2);
    expect(follow(LONG, middle, RANGE).top).toBe(LONG.content - VIEWPORT);
    expect(follow(LONG, middle, 0).top).toBe(0);
  });

  it('moves pixel by pixel with the wheel', () => {
    const middle = follow(LONG, START, RANGE / 2);
    const next = follow(LONG, middle, middle.scrollTop + 100);
    expect([next.top - middle.top, next.scrollTop - middle.scrollTop]).toEqual([100, 100]);
  });

  it('reaches every row with the wheel, even where the bar arrives at its end first', () => {
    let place = placeAt(LONG, 20_000);
    for (let turns = 0; turns < 1000 && place.top > 0; turns += 1) {
      place = follow(LONG, place, Math.max(0, place.scrollTop - 100));
    }
    expect(place).toEqual({ top: 0, scrollTop: 0 });
    place = placeAt(LONG, LONG.content - VIEWPORT - 20_000);
    for (let turns = 0; turns < 1000 && place.top < LONG.content - VIEWPORT; turns += 1) {
      place = follow(LONG, place, Math.min(RANGE, place.scrollTop + 100));
    }
    expect(place).toEqual({ top: LONG.content - VIEWPORT, scrollTop: RANGE });
  });

  it('never leaves the list, whatever the bar does', () => {
    const moves = fc.array(
      fc.oneof(fc.integer({ min: -900, max: 900 }), fc.integer({ min: -RANGE, max: RANGE })),
    );
    fc.assert(
      fc.property(moves, (deltas) => {
        let place = START;
        for (const delta of deltas) {
          place = follow(LONG, place, Math.min(RANGE, Math.max(0, place.scrollTop + delta)));
          expect(place.top).toBeGreaterThanOrEqual(0);
          expect(place.top).toBeLessThanOrEqual(LONG.content - VIEWPORT);
          expect(place.scrollTop).toBeGreaterThanOrEqual(0);
          expect(place.scrollTop).toBeLessThanOrEqual(RANGE);
        }
      }),
    );
  });
});

describe('the rows in view', () => {
  it('are those of the place, with some around them', () => {
    const list = { count: 100, rowHeight: 10, overscan: 2 };
    expect(windowAt({ top: 0, viewport: 50 }, list)).toEqual({ first: 0, last: 6 });
    expect(windowAt({ top: 55, viewport: 50 }, list)).toEqual({ first: 3, last: 12 });
    expect(windowAt({ top: 950, viewport: 50 }, list)).toEqual({ first: 93, last: 99 });
    expect(windowAt({ top: 0, viewport: 50 }, { ...list, count: 0 })).toEqual({ first: 0, last: -1 });
  });

  it('move no further than needed to show a row', () => {
    const view = { top: 100, viewport: 50 };
    expect([5, 10, 14, 15, 99].map((index) => topToShow(view, index, 10))).toEqual([50, 100, 100, 110, 950]);
  });

  it('follow the keys, up to the ends', () => {
    const at = { active: 50, count: 100, page: 9 };
    const keys = ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'x'];
    expect(keys.map((key) => rowAfterKey(key, at))).toEqual([51, 49, 59, 41, 0, 99, null]);
    expect(keys.map((key) => rowAfterKey(key, { ...at, active: 99 }))[0]).toBe(99);
    expect(rowAfterKey('PageUp', { ...at, active: 3 })).toBe(0);
    expect(rowAfterKey('End', { ...at, count: 0 })).toBeNull();
  });
});
