import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { temporaryDirectory } from './temporary-directory.ts';
import { hasTool } from './tools.ts';

/** The schemas of OASIS, as Debian's package of Symfony brings them. */
const FOLDER = '/usr/share/php/Symfony/Component/Translation/Resources/schemas';
const SCHEMAS = {
  'xliff-1.2': 'xliff-core-1.2-strict.xsd',
  'xliff-2.1': 'xliff-core-2.0.xsd',
} as const;

/** Whether the schemas of XLIFF and the program that applies them are there. In CI they must be. */
export const hasXliffSchemas = hasTool('xmllint', 'libxml2-utils') && existsSync(FOLDER);
if (!hasXliffSchemas) {
  if (process.env['CI'] === 'true') throw new Error(`${FOLDER} is missing; .ci/run must bring it`);
  console.warn(
    'SKIPPED: tests with the schemas of XLIFF (on Debian: apt-get install php-symfony-translation)',
  );
}

/** Validates a file by the schema of its standard. @throws when it is not valid */
export async function validateXliff(format: keyof typeof SCHEMAS, path: string): Promise<void> {
  const folder = await temporaryDirectory();
  const schema = SCHEMAS[format];
  copyFileSync(join(FOLDER, 'xml.xsd'), join(folder, 'xml.xsd'));
  const text = readFileSync(join(FOLDER, schema), 'utf8');
  // The schema names its import by a URL or another folder, and a test does not ask the internet.
  writeFileSync(
    join(folder, schema),
    text.replace(/schemaLocation="[^"]*xml\.xsd"/, 'schemaLocation="xml.xsd"'),
  );
  execFileSync('xmllint', ['--nonet', '--noout', '--schema', join(folder, schema), path], { stdio: 'pipe' });
}
