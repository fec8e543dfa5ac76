import { z } from 'zod';
import {
  isBlake3Hex,
  manifestDigestOf,
  type Blake3Hex,
  type SnapshotId,
} from '../../domain/release/digest.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';

export const releaseId = z.custom<ReleaseId>(
  (value) => typeof value === 'string' && parseReleaseId(value).ok,
  'must be a release id',
);

export const snapshotId = z.custom<SnapshotId>(
  (value) => typeof value === 'string' && manifestDigestOf(value) !== null,
  'must be "blake3:" and 64 lower-case hexadecimal digits',
);

export const blake3 = z.custom<Blake3Hex>(
  (value) => typeof value === 'string' && isBlake3Hex(value),
  'must be 64 lower-case hexadecimal digits',
);
