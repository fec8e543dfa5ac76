import { findWeakTokenFiles } from '../../platform/files/token-file.ts';
import type { ServerConfiguration } from './config.ts';
import { tokenSources } from './token-sources.ts';

/** Finds what makes the tokens of a configuration weak, one sentence for each finding, with its remedy. */
export async function findWeakSecrets(config: ServerConfiguration): Promise<readonly string[]> {
  const { tokenFile } = config.daemon;
  return await findWeakTokenFiles([
    ...tokenSources(config).map(({ file }) => file),
    ...(tokenFile === undefined ? [] : [tokenFile]),
  ]);
}
