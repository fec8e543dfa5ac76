import type { Blake3Hex } from '../../domain/release/digest.ts';
import { bufferOf } from '../buffer-of.ts';

/** A BLAKE3 computation over bytes that arrive in pieces. */
export interface Blake3 {
  update(bytes: Uint8Array): void;
  /** The digest of everything so far, 32 bytes. Call it once, then `reset` or drop the hasher. */
  digest(): Buffer;
  reset(): void;
}

interface Blake3Implementation {
  readonly name: string;
  create(): Blake3;
}

/** The native implementation. Rejects where no prebuilt binary fits the machine. */
export async function loadNativeBlake3(): Promise<Blake3Implementation> {
  const { Blake3Hasher } = await import('@napi-rs/blake-hash');
  return {
    name: 'native (@napi-rs/blake-hash)',
    create: () => {
      const hasher = new Blake3Hasher();
      return {
        update: (bytes) => {
          // The binding takes a Buffer; this is a view, not a copy.
          hasher.update(bufferOf(bytes));
        },
        digest: () => hasher.digestBuffer(),
        reset: () => hasher.reset(),
      };
    },
  };
}

/** The WebAssembly implementation, which runs everywhere at about a fifth of the speed. */
export async function loadWebAssemblyBlake3(): Promise<Blake3Implementation> {
  const { createBLAKE3 } = await import('hash-wasm');
  // A hasher is made asynchronously but used synchronously: one engine, whose state is swapped between hashers.
  const engine = await createBLAKE3();
  const initial = engine.init().save();
  let owner: object | null = null;
  let suspendOwner = (): void => undefined;
  return {
    name: 'WebAssembly (hash-wasm)',
    create: () => {
      const self = {};
      let state = initial;
      // Before another hasher uses the engine, the previous one saves its state.
      const enter = (): void => {
        if (owner === self) return;
        suspendOwner();
        engine.load(state);
        owner = self;
        suspendOwner = () => {
          state = engine.save();
        };
      };
      return {
        update: (bytes) => {
          enter();
          engine.update(bytes);
        },
        digest: () => {
          enter();
          const digest = Buffer.from(engine.digest('binary'));
          owner = null;
          suspendOwner = () => undefined;
          state = initial;
          return digest;
        },
        reset: () => {
          if (owner === self) {
            owner = null;
            suspendOwner = () => undefined;
          }
          state = initial;
        },
      };
    },
  };
}

async function loadBlake3(): Promise<Blake3Implementation> {
  try {
    return await loadNativeBlake3();
  } catch {
    // No prebuilt binary for this platform: correct anyway, but slower. The pool reports which one is in use.
    return await loadWebAssemblyBlake3();
  }
}

const live = await loadBlake3();

/** Name of the implementation that is live. */
export const blake3Implementation: string = live.name;

/** Begins a BLAKE3 computation. For small inputs; contents of files belong in the hash pool. */
export function createBlake3(): Blake3 {
  return live.create();
}

/** BLAKE3 of bytes in memory. For at most 64 KB on the event loop; contents of files belong in the hash pool. */
export function blake3Hex(bytes: Uint8Array): Blake3Hex {
  const hasher = live.create();
  hasher.update(bytes);
  return hasher.digest().toString('hex') as Blake3Hex;
}
