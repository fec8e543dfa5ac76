import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { failure, success, type Result } from '../../../domain/result.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import { ObjectFault } from '../../../snapshot/objects/object-fault.ts';
import { openObject } from '../../../snapshot/objects/object-reader.ts';

/** Largest document that is read: one block, so that the bytes read and the bytes hashed are the same. */
export const DOCUMENT_MAX_BYTES = 1024 * 1024;

/** Reads a small text object of the store and returns it only if its bytes match the digest in its name. */
export type VerifiedDocumentReader = (document: {
  readonly blake3: Blake3Hex;
  readonly size: number;
}) => Promise<Result<string, { readonly kind: 'missing' | 'damaged'; readonly message: string }>>;

/**
 * Makes a reader of one volume. It throws ServiceError `internal_error` for documents that are too large or not UTF-8:
 * their bytes are as attested, but not usable.
 */
export function createVerifiedDocumentReader(options: {
  readonly root: string;
  readonly pool: HashPool;
}): VerifiedDocumentReader {
  return async ({ blake3, size }) => {
    if (size > DOCUMENT_MAX_BYTES)
      throw unusable(blake3, `has ${size} bytes, at most ${DOCUMENT_MAX_BYTES} are read`);
    let read: { readonly bytes: Buffer; readonly blake3: Uint8Array };
    try {
      const object = await openObject({ root: options.root, blake3, size });
      try {
        read = await options.pool.hashBlock(object.fd, 0, size);
      } finally {
        await object.close();
      }
    } catch (error) {
      if (error instanceof ObjectFault && error.kind === 'exhausted') {
        throw new ServiceError('overloaded', 'The server has too many files open. Retry later.', {
          retryAfter: 5,
          cause: error,
        });
      }
      return failure({ kind: 'missing', message: 'the object cannot be read' });
    }
    if (read.bytes.length !== size || Buffer.from(read.blake3).toString('hex') !== blake3)
      return failure({ kind: 'damaged', message: 'the bytes do not match the digest in the manifest' });
    try {
      return success(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(read.bytes));
    } catch {
      throw unusable(blake3, 'is not UTF-8');
    }
  };
}

function unusable(blake3: Blake3Hex, what: string): ServiceError {
  return new ServiceError('internal_error', 'A document of the release cannot be used.', {
    internal: `object ${blake3} ${what}`,
  });
}
