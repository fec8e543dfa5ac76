import type { ServerResponse } from 'node:http';

/** A fault of one answer. */
export type UpstreamFault = {
  /** How many requests it answers; one by default. */
  readonly times?: number;
  /** Methods it answers; only `GET` by default. */
  readonly methods?: readonly string[];
} & (
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  /** Ends the connection cleanly after this many bytes. */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Resets the connection (RST) after this many bytes. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Stops sending after this many bytes. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** Sends the body in small pieces. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly intervalMs: number }
  /** Flips one bit in the middle. */
  | { readonly kind: 'wrong-bytes' }
  /** Serves other bytes from now on. */
  | { readonly kind: 'replace'; readonly bytes: Buffer }
  /** Answers 200 to a range request. */
  | { readonly kind: 'ignore-range' }
  /** Answers a range that begins elsewhere. */
  | { readonly kind: 'wrong-range'; readonly shift: number }
  | { readonly kind: 'content-encoding'; readonly value: string }
  /** Sends more bytes than the file has, with a matching length. */
  | { readonly kind: 'oversize'; readonly extraBytes: number }
  /** Sends the file in chunks, without a length. */
  | { readonly kind: 'unsized' }
  /** Never stops sending. */
  | { readonly kind: 'endless' }
);

/** Takes the fault for the next request of a path; `null` when it is healthy. */
export function faultOf(queue: UpstreamFault[] | undefined, method: string): UpstreamFault | null {
  const next = queue?.[0];
  if (queue === undefined || next === undefined || !(next.methods ?? ['GET']).includes(method)) return null;
  const left = (next.times ?? 1) - 1;
  if (left > 0) queue[0] = { ...next, times: left };
  else queue.shift();
  return next;
}

/** Sends the body of a 200 or 206 the faulty way. */
export function sendFaulty(response: ServerResponse, body: Buffer, fault: UpstreamFault): void {
  switch (fault.kind) {
    case 'truncate':
      response.write(body.subarray(0, fault.afterBytes), () => response.socket?.end());
      return;
    case 'reset':
      response.write(body.subarray(0, fault.afterBytes), () => response.socket?.resetAndDestroy());
      return;
    case 'stall':
      // Without bytes the head must be flushed explicitly.
      response.flushHeaders();
      response.write(body.subarray(0, fault.afterBytes));
      return;
    case 'drip':
      drip(response, body, fault);
      return;
    case 'wrong-bytes': {
      const damaged = Buffer.from(body);
      const middle = damaged.length >> 1;
      damaged[middle] = (damaged[middle] ?? 0) ^ 1;
      response.end(damaged);
      return;
    }
    case 'oversize':
      response.end(Buffer.concat([body, Buffer.alloc(fault.extraBytes)]));
      return;
    case 'unsized':
      response.write(body);
      response.end();
      return;
    case 'endless':
      pourForever(response);
      return;
    default:
      response.end(body);
  }
}

function drip(
  response: ServerResponse,
  body: Buffer,
  fault: { readonly bytes: number; readonly intervalMs: number },
): void {
  let position = 0;
  const timer = setInterval(() => {
    if (response.destroyed || position >= body.length) {
      clearInterval(timer);
      response.end();
      return;
    }
    response.write(body.subarray(position, position + fault.bytes));
    position += fault.bytes;
  }, fault.intervalMs);
}

function pourForever(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024);
  const pour = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', pour);
  pour();
}
