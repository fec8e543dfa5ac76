import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { SERVER_INFO_MAX_BYTES, type ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { damageKindOf, type DamageKind, type ObjectDamage } from '../../domain/verdict/damage-kind.ts';
import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { objectDamageOf } from '../../snapshot/objects/object-fault.ts';
import type { ObjectSource } from '../../snapshot/objects/object-source.ts';

/**
 * Reads a small text object of the store and returns it only if its bytes match the digest in its name.
 *
 * @throws ServiceError `internal_error` for a document that is too large or not UTF-8: its bytes are as attested, but not
 *   usable; `overloaded` when it cannot be read now
 */
export async function readVerifiedDocument(
  source: ObjectSource,
  document: ServerInfoDocument,
): Promise<Result<string, { readonly kind: DamageKind; readonly message: string }>> {
  const { blake3, size } = document;
  if (size > SERVER_INFO_MAX_BYTES)
    throw unusable(blake3, `has ${size} bytes, at most ${SERVER_INFO_MAX_BYTES} are read`);
  let bytes: Buffer | ObjectDamage;
  try {
    const object = await source.open(document);
    try {
      const read = Buffer.allocUnsafeSlow(size);
      const length = await source.read(object.fd, 0, read);
      if (length < size) bytes = 'size_mismatch';
      else bytes = blake3Hex(read) === blake3 ? read : 'digest_mismatch';
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
}

function unusable(blake3: Blake3Hex, what: string): ServiceError {
  return new ServiceError('internal_error', 'A document of the release cannot be used.', {
    internal: `object ${blake3} ${what}`,
  });
}
