import { expect, it } from 'vitest';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { joinPieces, newPiece, pieceChunks } from '../../../../../src/daemon/formats/patch/output-pieces.ts';

it('joins copied and new bytes, in chunks of at most 1 MiB', () => {
  const large = Buffer.alloc(3 * 1024 * 1024, 'abc');
  const pieces = [
    { source: bytesSource(large), offset: 1, length: large.length - 1 },
    newPiece(Buffer.from('new')),
    newPiece(Buffer.alloc(0)),
  ];
  expect(joinPieces(pieces).equals(Buffer.concat([large.subarray(1), Buffer.from('new')]))).toBe(true);
  const sizes = Array.from(pieceChunks(pieces), ({ length }) => length);
  expect(sizes).toEqual([1024 * 1024, 1024 * 1024, 1024 * 1024 - 1, 3]);
});
