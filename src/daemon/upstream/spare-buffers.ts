/** Memory that is used again, so that receiving a release does not leave gigabytes for the garbage collector. */
export interface SpareBuffers {
  /** A buffer with undefined content; the caller owns it until it is put back, or forever. */
  take(): ArrayBuffer;
  /** Gives a buffer back. */
  put(buffer: ArrayBuffer): void;
}

/**
 * Creates a stock of buffers of one size. It keeps as many as were ever out at the same time.
 *
 * @param bytes of each
 */
export function createSpareBuffers(bytes: number): SpareBuffers {
  const spare: ArrayBuffer[] = [];
  return {
    take: () => spare.pop() ?? new ArrayBuffer(bytes),
    put: (buffer) => {
      if (buffer.byteLength === bytes) spare.push(buffer);
    },
  };
}
