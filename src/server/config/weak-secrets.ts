import { findWeakTokenFiles } from '../../platform/files/token-file.ts';
import type { ServerConfiguration } from './config.ts';

/** Finds what makes the tokens of a configuration weak, one sentence for each finding, with its remedy. */
export async function findWeakSecrets({
  admin,
  daemon,
}: Pick<ServerConfiguration, 'admin' | 'daemon'>): Promise<readonly string[]> {
  return await findWeakTokenFiles([
    ...admin.tokenFiles,
    ...(daemon.tokenFile === undefined ? [] : [daemon.tokenFile]),
  ]);
}
