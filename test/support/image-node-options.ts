import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The value of NODE_OPTIONS in the image, so that tests run programs with the heap settings of users. */
export const IMAGE_NODE_OPTIONS = readOptions();

function readOptions(): string {
  const dockerfile = readFileSync(resolve(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const [, options] = /NODE_OPTIONS="([^"]+)"/.exec(dockerfile) ?? [];
  if (options === undefined) throw new Error('the Dockerfile does not set NODE_OPTIONS');
  return options;
}
