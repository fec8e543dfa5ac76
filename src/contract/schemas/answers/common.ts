import { z } from 'zod';
import { CHANNELS } from '../../../domain/release/channel.ts';

/** A count, never negative. */
export const Count = z.int().min(0);

/** An instant. */
export const UnixSeconds = z.int().min(0).describe('Unix seconds.');

/** One of the two channels. */
export const ChannelSchema = z.enum(CHANNELS).describe('The release channel.');

/** A release id. */
export const ReleaseIdSchema = z.string().min(1).max(128).describe('Identifies a release.');

/** A BLAKE3 digest. */
export const Blake3Schema = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('BLAKE3 digest, lower-case hexadecimal.');

/** A snapshot id. */
export const SnapshotIdSchema = z
  .string()
  .regex(/^blake3:[0-9a-f]{64}$/)
  .describe('Identifies a snapshot by the digest of its manifest.');

/** How many rows are in each state. */
export const Counts = z.record(z.string(), Count);
