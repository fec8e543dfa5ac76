import { createHash } from 'node:crypto';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { TaskArguments } from './task.ts';

/**
 * The key of a task's work: two tasks of equal kind and equal arguments have the same key, in any order of their
 * members.
 *
 * @returns the kind and the SHA-256 of the canonical arguments
 */
export function taskDedupeKey(kind: string, args: TaskArguments): string {
  return `${kind}:${sha256(stringifyJsonExact(canonical(args)))}`;
}

/** The stored form of an idempotency key. Clients choose keys freely, and a key may contain a secret. */
export function idempotencyDigest(key: string): string {
  return sha256(key);
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
