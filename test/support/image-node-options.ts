import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The value of NODE_OPTIONS in the image: the heap settings of users. */
export const IMAGE_NODE_OPTIONS = readOptions();

/**
 * The same as arguments, with more room for new objects than users have, from the first one on: a program then starts in two thirds
 * of the processor time. For tests that do not measure memory. Programs with the same arguments share what Node has compiled.
 */
export const FAST_ARGUMENTS: readonly string[] = [
  ...IMAGE_NODE_OPTIONS.split(' '),
  '--min-semi-space-size=16',
  '--max-semi-space-size=16',
  // Threads that collect garbage side by side cost a tenth of a start.
  '--single-threaded-gc',
];

function readOptions(): string {
  const dockerfile = readFileSync(resolve(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [, options] = /NODE_OPTIONS="([^"]+)"/.exec(dockerfile) ?? [];
  if (options === undefined) throw new Error('the Dockerfile does not set NODE_OPTIONS');
  return options;
}
