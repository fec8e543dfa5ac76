import { ServiceError } from '../../contract/problems/service-error.ts';
import { findBelowRoot } from '../../platform/files/below-root.ts';

/**
 * Checks that a file which a caller names is in the exchange folder, before a job is queued for it.
 *
 * @param file relative to the folder
 * @throws ServiceError `invalid_path`, `file_not_found`
 */
export async function requireExchangedFile(exchangeRoot: string, file: string): Promise<void> {
  if ((await findBelowRoot(exchangeRoot, file)) !== null) return;
  throw new ServiceError('file_not_found', `the exchange folder has no file "${file}"`);
}
