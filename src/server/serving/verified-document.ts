import { ServiceError } from '../../contract/problems/service-error.ts';
import { BLOCK_DIGEST_BYTES, blockCount, blockSpan } from '../../domain/release/blocks.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { SERVER_INFO_MAX_BYTES, type ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { damageKindOf, type DamageKind, type ObjectDamage } from '../../domain/verdict/damage-kind.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { objectDamageOf } from '../../snapshot/objects/object-fault.ts';
import { openObject } from '../../snapshot/objects/object-reader.ts';

/** Reads a small text object of the store and returns it only if its bytes match the digest in its name. */
export type VerifiedDocumentReader = (
  document: ServerInfoDocument,
) => Promise<Result<string, { readonly kind: DamageKind; readonly message: string }>>;

export interface VerifiedDocumentReaderOptions {
  readonly root: string;
  readonly pool: Pick<HashPool, 'hashContent' | 'hashBlock'>;
}

/**
 * Makes a reader of one volume. It throws ServiceError `internal_error` for documents that are too large or not UTF-8:
 * their bytes are as attested, but not usable.
 */
export function createVerifiedDocumentReader(options: VerifiedDocumentReaderOptions): VerifiedDocumentReader {
  return async (document) => {
    const { blake3, size } = document;
    if (size > SERVER_INFO_MAX_BYTES)
      throw unusable(blake3, `has ${size} bytes, at most ${SERVER_INFO_MAX_BYTES} are read`);
    let bytes: Buffer | ObjectDamage;
    try {
      const object = await openObject({ root: options.root, blake3, size });
      try {
        bytes = await readVerified(options.pool, object.fd, document);
      } finally {
        await object.close();
      }
    } catch (error) {
      const damage = objectDamageOf(error);
      if (damage === null) {
        throw new ServiceError('overloaded', 'The server cannot read a document now. Retry later.', {
          retryAfter: 5,
          cause: error,
        });
      }
      return failure({ kind: damageKindOf(damage), message: 'the object cannot be read' });
    }
    if (typeof bytes === 'string')
      return failure({ kind: damageKindOf(bytes), message: 'the bytes do not match the attested digest' });
    try {
      return success(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch {
      throw unusable(blake3, 'is not UTF-8');
    }
  };
}

/**
 * Reads an object block by block. Each block is hashed in the call that reads it, so that the returned bytes are the
 * hashed ones. For an object of several blocks, one pass over the whole object first gives the digests of its blocks.
 *
 * @returns the damage when the bytes do not match the digest
 */
async function readVerified(
  pool: VerifiedDocumentReaderOptions['pool'],
  fd: number,
  { blake3, size }: ServerInfoDocument,
): Promise<Buffer | ObjectDamage> {
  let digests: Uint8Array = Buffer.from(blake3, 'hex');
  if (blockCount(size) > 1) {
    const whole = await pool.hashContent(fd, { blocks: true });
    if (whole.size !== size) return 'size_mismatch';
    if (whole.blake3 !== blake3 || whole.blocks === null) return 'digest_mismatch';
    digests = whole.blocks;
  }
  const pieces: Buffer[] = [];
  for (let block = 0; block < blockCount(size); block += 1) {
    const { start, end } = blockSpan(block, size);
    const found = await pool.hashBlock(fd, start, end);
    const expected = digests.subarray(block * BLOCK_DIGEST_BYTES, (block + 1) * BLOCK_DIGEST_BYTES);
    if (found.bytes.length !== end - start) return 'size_mismatch';
    if (!Buffer.from(found.blake3).equals(expected)) return 'digest_mismatch';
    pieces.push(found.bytes);
  }
  return Buffer.concat(pieces);
}

function unusable(blake3: Blake3Hex, what: string): ServiceError {
  return new ServiceError('internal_error', 'A document of the release cannot be used.', {
    internal: `object ${blake3} ${what}`,
  });
}
