import { join } from 'node:path';
import { readBoundedFile } from '../../platform/files/files.ts';

/** Where the document is: the very file of the reference, which a test holds to the operation table. */
const PATH = join(import.meta.dirname, '../../../docs/reference/openapi.yaml');

const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads the OpenAPI document to serve. It is read rather than made from the operation table: making it takes some 8 MiB
 * of every server's memory.
 *
 * @throws the file system error when the installation lacks it
 */
export async function readOpenApiDocument(): Promise<Buffer> {
  return await readBoundedFile(PATH, MAX_BYTES);
}
