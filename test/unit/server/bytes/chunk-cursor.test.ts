import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_SIZE } from '../../../../src/domain/release/blocks.ts';
import { ChunkCursor } from '../../../../src/server/bytes/chunk-cursor.ts';

const SIZE = 5 * BLOCK_SIZE + 100;

test('property: chunks cover the parts in order, stay inside one block, and carry each head once', () => {
  const part = fc
    .tuple(
      fc.nat(SIZE - 1),
      fc.integer({ min: 1, max: 3 * BLOCK_SIZE }),
      fc.string({ minLength: 1, maxLength: 4 }),
    )
    .map(([start, length, head]) => ({ start, end: Math.min(SIZE, start + length), head }));
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.infiniteStream(fc.integer({ min: 50_000, max: 2 * BLOCK_SIZE })),
      (parts, lengths) => {
        const cursor = new ChunkCursor(parts, SIZE);
        const covered: { start: number; end: number; head: string }[] = [];
        let previousBlock = -1;
        while (!cursor.done) {
          const length = lengths.next().value;
          const { available } = cursor;
          const chunk = cursor.take(length);
          if (chunk === null) throw new Error('not done, and yet no chunk');
          expect(chunk.end - chunk.start).toBe(Math.min(length, available));
          expect(chunk.block).toBe(Math.floor((chunk.end - 1) / BLOCK_SIZE));
          expect(chunk.block).toBe(Math.floor(chunk.start / BLOCK_SIZE));
          expect(chunk.continuesBlock).toBe(chunk.block === previousBlock);
          previousBlock = chunk.block;
          const last = covered.at(-1);
          if (chunk.head === '' && last !== undefined) {
            expect(chunk.start).toBe(last.end);
            last.end = chunk.end;
          } else {
            covered.push({ start: chunk.start, end: chunk.end, head: chunk.head });
          }
        }
        expect(covered).toEqual(parts);
        expect(cursor.take(1)).toBeNull();
      },
    ),
  );
});
