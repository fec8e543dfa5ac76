import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { listOperations } from '../../src/contract/operations/operations.ts';
import { generatedCalls, type GeneratedOutcome } from '../support/generated-calls.ts';
import { nodeTools } from '../support/node-tools.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startRealWorld } from '../support/status-worlds.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SUPPORT = resolve(import.meta.dirname, '../support');
const TEST_MS = 180_000;

/** Uses the types of openapi-typescript; it must compile, and each line with an error must have one. */
const TYPED_USE = `
import createClient from 'openapi-fetch';
import type { paths } from './types.d.ts';
const client = createClient<paths>({ baseUrl: 'http://x' });
const { data, error } = await client.GET('/v1/distribution', { params: { query: { channel: 'official' } } });
export const id: string | undefined = data?.release.release_id;
export const code: string | undefined = error?.code;
await client.POST('/admin/control/{action}', { params: { path: { action: 'sync' } }, body: { force: true } });
// @ts-expect-error no such action
await client.POST('/admin/control/{action}', { params: { path: { action: 'launch' } } });
// @ts-expect-error no such channel
await client.GET('/v1/distribution', { params: { query: { channel: 'other' } } });
// @ts-expect-error a required parameter is missing
await client.GET('/admin/tasks/status', { params: { query: {} } });
`;

const run = async (program: string, args: readonly string[], cwd: string): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)(program, [...args], { cwd, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
};

/** Each client calls every operation of it. */
const service = sharedFixture(async (atEnd) => await startRealWorld('released', atEnd));

/** A service with a synced release, its document, and the calls of every operation, in a new folder. */
async function prepare(): Promise<{
  readonly folder: string;
  readonly document: string;
  readonly url: string;
  readonly token: string;
  readonly callsFile: string;
}> {
  const { url, token, taskId } = service();
  const folder = await temporaryDirectory();
  const document = join(folder, 'openapi.yaml');
  await writeFile(document, await (await fetch(`${url}/openapi.yaml`)).text());
  const callsFile = join(folder, 'calls.json');
  await writeFile(callsFile, JSON.stringify(generatedCalls(taskId)));
  return { folder, document, url, token, callsFile };
}

/** Checks that every operation was called and succeeded, with content except where it has none. */
function expectAllCalled(output: string): void {
  const outcomes = JSON.parse(output) as readonly GeneratedOutcome[];
  expect(outcomes.map(({ operation }) => operation)).toEqual(listOperations().map(({ id }) => id));
  const unexpected = outcomes.filter(
    ({ operation, status }) => status !== (operation === 'postControl' ? 202 : 200),
  );
  expect(unexpected).toEqual([]);
  const jsonOperations = new Set(
    generatedCalls('').flatMap(({ operation, isJson }) => (isJson ? [operation] : [])),
  );
  const empty = outcomes.filter(({ operation, hasContent }) => jsonOperations.has(operation) && !hasContent);
  expect(empty).toEqual([]);
}

const tools = nodeTools('client-tools');
const pythonTools = pythonProgram('client-tools', null);

describe.skipIf(tools === null)('clients in TypeScript', () => {
  const module = (name: string): string => join(tools ?? '', 'node_modules', name);
  const compile = async (folder: string, files: readonly string[]): Promise<void> => {
    const options = {
      target: 'esnext',
      module: 'nodenext',
      lib: ['esnext', 'dom', 'dom.iterable'],
      types: [],
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      paths: { 'openapi-fetch': [module('openapi-fetch/dist/index.d.mts')] },
    };
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
    await run(process.execPath, [module('typescript/bin/tsc'), '-p', folder], folder);
  };
  const call = async (
    kind: 'fetch' | 'hey',
    client: string,
    { url, token, callsFile, folder }: Awaited<ReturnType<typeof prepare>>,
  ): Promise<string> =>
    await run(
      process.execPath,
      [join(SUPPORT, 'call-typescript-client-child.ts'), kind, client, url, token, callsFile],
      folder,
    );

  it(
    'openapi-typescript types the document, and its client calls every operation',
    async () => {
      const prepared = await prepare();
      const { folder, document } = prepared;
      const types = join(folder, 'types.d.ts');
      await run(
        process.execPath,
        [module('openapi-typescript/bin/cli.js'), document, '-o', types],
        tools ?? '',
      );
      await writeFile(join(folder, 'use.ts'), TYPED_USE);
      await compile(folder, ['types.d.ts', 'use.ts']);
      expectAllCalled(await call('fetch', module('openapi-fetch/dist/index.mjs'), prepared));
    },
    TEST_MS,
  );

  it(
    'the client of @hey-api/openapi-ts compiles and calls every operation',
    async () => {
      const prepared = await prepare();
      const { folder, document } = prepared;
      const configuration = {
        input: document,
        output: { path: join(folder, 'hey'), module: { extension: '.ts' } },
        plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
        logs: { file: false },
      };
      const file = join(folder, 'openapi-ts.config.mjs');
      await writeFile(file, `export default ${JSON.stringify(configuration)};`);
      await run(process.execPath, [module('@hey-api/openapi-ts/bin/run.js'), '-f', file], tools ?? '');
      await compile(folder, ['hey/index.ts']);
      expectAllCalled(await call('hey', join(folder, 'hey'), prepared));
    },
    TEST_MS,
  );
});

it.skipIf(pythonTools === null)(
  'the client of openapi-python-client calls every operation',
  async () => {
    const { folder, document, url, token, callsFile } = await prepare();
    const file = join(folder, 'python-client.json');
    // Nobody reads the generated code, and the document of the service is text to a client.
    await writeFile(
      file,
      '{"post_hooks":[],"content_type_overrides":{"application/yaml":"application/octet-stream"}}',
    );
    const generated = join(folder, 'generated');
    const output = await run(
      pythonTools ?? '',
      [
        '-m',
        'openapi_python_client',
        'generate',
        '--path',
        document,
        '--config',
        file,
        '--output-path',
        generated,
      ],
      folder,
    );
    expect(output).not.toMatch(/warning|error/i);
    expectAllCalled(
      await run(
        pythonTools ?? '',
        [join(SUPPORT, 'call-python-client.py'), generated, 'slipway_client', url, token, callsFile],
        folder,
      ),
    );
  },
  TEST_MS,
);
