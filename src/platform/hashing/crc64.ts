import type { Crc64Decimal } from '../../domain/release/digest.ts';

/** A CRC-64/XZ (ECMA-182, reflected, as in the XZ file format) over bytes that arrive in pieces. */
export interface Crc64 {
  reset(): void;
  update(bytes: Uint8Array): void;
  /** The unsigned value in decimal, as launchers compare it. Call `reset` before the next use. */
  digest(): Crc64Decimal;
}

/** Makes a CRC-64/XZ. Its engine is compiled asynchronously; make one per thread and reset it. */
export async function createCrc64(): Promise<Crc64> {
  // Loaded when it is needed: it is large, and a thread that only verifies never needs it.
  const { createCRC64 } = await import('hash-wasm');
  const engine = await createCRC64();
  engine.init();
  return {
    reset: () => engine.init(),
    update: (bytes) => engine.update(bytes),
    digest: () => String(BigInt(`0x${engine.digest('hex')}`)) as Crc64Decimal,
  };
}
