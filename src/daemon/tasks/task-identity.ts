import { createHash } from 'node:crypto';
import { stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { TaskArguments } from './task.ts';

/**
 * Names what a task does: two tasks of equal kind and equal arguments have the same key, whatever the order of their
 * members.
 *
 * @returns the kind and the SHA-256 of the canonical arguments
 */
export function taskDedupeKey(kind: string, args: TaskArguments): string {
  return `${kind}:${sha256(stringifyJsonExact(canonical(args)))}`;
}

/** What is stored of an idempotency key: callers choose keys freely, and may put a secret into one. */
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
