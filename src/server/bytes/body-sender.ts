import type { ByteResponsePlan } from '../../domain/http/byte-response.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { BlockCache } from './block-cache.ts';
import { hasBlockList } from '../../domain/release/blocks.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { EXTENT_BYTES, extentOf } from './extents.ts';
import { SLICE_BYTES, type InFlightBudget } from './in-flight-budget.ts';
import { Outflow, type ByteResponse, type PendingBytes } from './outflow.ts';
import { TurnShare } from './turn-share.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { EntryReader } from './verified-reader.ts';

// Chunks grow for a client that takes one faster than the first limit, and shrink if it is slower than the second.
const FAST_FLUSH_MS = 50;
const SLOW_FLUSH_MS = 250;
/** The share of the budget above which a client must prove to be fast before it gets large chunks. */
const CROWDED = 0.5;

/** One response to send. */
interface BodyTransfer {
  readonly response: ByteResponse;
  /** Has at least one part. */
  readonly plan: ByteResponsePlan;
  readonly reader: EntryReader;
  /** Whether the bytes must come from the volume, not from memory. */
  readonly fromVolume: boolean;
  /** Called once, when the first bytes are verified; writes the head. */
  readonly begin: () => void;
  /** Called with the number of body bytes that the network has taken. */
  readonly onSent: (bytes: number) => void;
}

/**
 * Sends head and body. Resolves when all bytes are handed to the network or the client has disconnected.
 *
 * @throws ByteFault. If `begin` was not called, nothing was sent; otherwise the connection must be cut
 */
export type SendBody = (transfer: BodyTransfer) => Promise<void>;

/**
 * Makes the sender. While the client keeps up and the budget lasts, it sends large chunks with two in flight; otherwise
 * small chunks with one in flight. A fast client gets the speed of the volume; a stalled client holds little memory.
 */
export function createBodySender({
  budget,
  cache,
  buffers,
  clock,
}: {
  readonly budget: InFlightBudget;
  readonly cache: BlockCache;
  readonly buffers: ReadBuffers;
  readonly clock: Clock;
}): SendBody {
  const turns = new TurnShare();

  const readNext = async (
    cursor: ChunkCursor,
    { reader, fromVolume }: BodyTransfer,
    memory: { length: number; keep: boolean },
  ): Promise<PendingBytes & { readonly head: string }> => {
    const wanted = Math.min(EXTENT_BYTES, cursor.available);
    const granted = budget.take(Math.min(memory.length, wanted));
    try {
      const chunk = cursor.take(granted);
      if (chunk === null) throw new RangeError('a chunk was asked for after the last one');
      const { blake3, size } = reader.entry;
      // A slow client reads an object without a block list once for each slice, unless memory has it.
      const isFirstUse = !chunk.continuesExtent || (!hasBlockList(size) && !memory.keep);
      if (isFirstUse) memory.keep = !fromVolume && cache.wants(blake3, extentOf(chunk.start));
      const read = await reader.read(chunk, { keep: memory.keep, fromVolume });
      return { bytes: withoutExtent(read, buffers), granted, head: chunk.head };
    } catch (error) {
      budget.giveBack(granted);
      throw error;
    }
  };

  return async (transfer) => {
    const { response, plan, reader, begin, onSent } = transfer;
    const outflow = new Outflow(response, budget, (bytes) => {
      buffers.giveBack(bytes);
      onSent(bytes.length);
    });
    const cursor = new ChunkCursor(plan.parts, reader.entry.size);
    // Start small when much is in flight, so that clients that never read cannot use up the budget of fast clients.
    const memory = { length: budget.load < CROWDED ? EXTENT_BYTES : SLICE_BYTES, keep: false };
    let begun = false;
    while (!cursor.done && !outflow.closed) {
      const waitedFrom = clock.monotonic();
      // Two in flight: the network sends one while the server reads the next.
      const hadToWait = outflow.unflushed > 0;
      await outflow.settle(memory.length === EXTENT_BYTES ? 1 : 0);
      if (outflow.closed) return;
      if (hadToWait) memory.length = adapt(memory.length, clock.monotonic() - waitedFrom);
      const turn = turns.take(Math.min(memory.length, cursor.available));
      if (turn !== null) {
        await turn;
        if (outflow.closed) return;
      }
      const next = await readNext(cursor, transfer, memory);
      if (!begun && !outflow.closed) {
        begun = true;
        try {
          begin();
        } catch (error) {
          budget.giveBack(next.granted);
          buffers.giveBack(next.bytes);
          throw error;
        }
      }
      if (next.head !== '' && !outflow.closed) response.write(Buffer.from(next.head, 'latin1'));
      outflow.write(next, cursor.done && plan.tail === '');
    }
    if (plan.tail !== '' && !outflow.closed) response.end(Buffer.from(plan.tail, 'latin1'));
  };
}

/** The same bytes, without the memory around them: a view keeps its whole extent in memory, which the budget does not count. */
function withoutExtent(bytes: Buffer, buffers: ReadBuffers): Buffer {
  if (bytes.buffer.byteLength < bytes.length * 2) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  buffers.giveBack(bytes);
  return copy;
}

function adapt(length: number, flushMs: number): number {
  if (flushMs > SLOW_FLUSH_MS) return Math.max(SLICE_BYTES, length / 2);
  if (flushMs < FAST_FLUSH_MS) return Math.min(EXTENT_BYTES, length * 2);
  return length;
}
