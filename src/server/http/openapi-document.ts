import { join } from 'node:path';
import { readBoundedFile } from '../../platform/files/files.ts';

/** Path of the document: the file of the reference, which a test compares with the operation table. */
const PATH = join(import.meta.dirname, '../../../docs/reference/openapi.yaml');

const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Reads the OpenAPI document to serve. It is read instead of generated, because generating it takes about 8 MiB of
 * memory in every server.
 *
 * @throws the file system error if the file is missing
 */
export async function readOpenApiDocument(): Promise<Buffer> {
  return await readBoundedFile(PATH, MAX_BYTES);
}
