import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { OperationDefinition } from '../../src/contract/operations/operation-definition.ts';
import { listOperations } from '../../src/contract/operations/operations.ts';
import { campaignSize } from '../support/long.ts';
import { schemathesisProgram } from '../support/schemathesis.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';

const TOKEN = 'canary-fuzz-token-58';
/** Every run has the same cases; another seed tries others. */
const SEED = process.env['FUZZ_SEED'] ?? '1';
const EXAMPLES = campaignSize(5, 50);
/** About three thousand requests in the short campaign: twenty seconds on an idle machine, minutes on a busy one. */
const DEADLINE_MS = campaignSize(1_200_000, 3_600_000);
/** Seconds until an answer counts as missing. The ten of Schemathesis pass on a busy machine. */
const ANSWER_SECONDS = 120;
/** Largest output to show on failure. A body that it quotes may be a mebibyte. */
const MAX_SHOWN = 20_000;

/** The head of what Schemathesis prints of each failure and of each request without an answer. */
const FAULTS = /^=+ (?:FAILURES|ERRORS) =+$/m;

/** Parameters of a query whose rules a schema does not say: a task that is not kept, or a path or id with control characters, is refused. */
const NAMING = new Set(['task_id', 'release_id', 'translation_memory_path', 'glossary_path']);

/** The checks of Schemathesis that do not fit an operation, each with its reason. */
function exceptionsOf({ auth, daemon, query, tolerateUnknownQuery }: OperationDefinition): string[] {
  const off = (check: string): string => `checks.${check}.enabled = false`;
  return [
    // Probes and launchers get an answer to every request, and never need the token that the document declares for all.
    ...(auth === 'none' ? [off('ignored_auth')] : []),
    ...(auth === 'none' && tolerateUnknownQuery ? [off('negative_data_rejection')] : []),
    ...(Object.keys(query.shape).some((name) => NAMING.has(name)) ? [off('positive_data_acceptance')] : []),
    // A search for inconsistent translations refuses most filters, and a list of parameters does not say which exclude each other.
    ...('same' in query.shape ? [off('positive_data_acceptance')] : []),
    // One schema describes the bodies of all actions, so it does not say which fields an action needs. The daemon rejects an
    // action that does not fit its state: nothing to roll back, for example.
    ...(daemon !== undefined && 'control' in daemon
      ? [
          off('positive_data_acceptance'),
          'checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 502, 503]',
        ]
      : []),
  ];
}

/** The configuration of Schemathesis: every check is on, with few exceptions. */
function configuration(): string {
  const exceptions = listOperations()
    .map((operation) => ({ id: operation.id, lines: exceptionsOf(operation) }))
    .filter(({ lines }) => lines.length > 0);
  return [
    `[auth.openapi.bearerToken]\nbearer = "${TOKEN}"`,
    // A backend that is not there is declared as 503.
    '[checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 503]',
    // A body that breaks a bound may exceed the size limit, and forbidden requests are not validated.
    '[checks.negative_data_rejection]\nexpected-statuses = [400, 401, 403, 404, 405, 413, 415, 416]',
    ...exceptions.map(({ id, lines }) =>
      ['[[operations]]', `include-operation-id = "${id}"`, ...lines].join('\n'),
    ),
  ].join('\n\n');
}

const program = schemathesisProgram();

describe.skipIf(program === null)('the whole interface, according to the served document', () => {
  it(
    'answers every request as documented',
    async () => {
      const upstream = await temporaryDirectory();
      await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
      const system = await startSystem({
        upstream: { kind: 'directory', directory: { path: upstream } },
        server: {
          admin: { tokenFiles: [await writeTokenFile(TOKEN)], exposeControl: true },
          auth: { public: 'token' as unknown as object },
          // A parameter at its bound, percent-encoded, does not fit into the default.
          limits: { maxHeaderBytes: 1024 * 1024 },
        },
      });
      await system.untilReady(true);
      const directory = await temporaryDirectory();
      const file = join(directory, 'schemathesis.toml');
      await writeFile(file, configuration());
      const options = {
        header: `Authorization: Bearer ${TOKEN}`,
        phases: 'examples,coverage,fuzzing',
        'max-examples': String(EXAMPLES),
        seed: SEED,
        // With two, Python sometimes fails in its own parser (github.com/python/cpython/issues/106905).
        workers: '1',
        'request-timeout': String(ANSWER_SECONDS),
        warnings: 'off',
        'output-truncate': 'true',
      };
      const args = ['--config-file', file, 'run', `${system.serverUrl}/openapi.yaml`, '--no-color'].concat(
        Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
      );
      const { code, output } = await promisify(execFile)(program ?? '', args, {
        cwd: directory,
        maxBuffer: 64 * 1024 * 1024,
      }).then(
        ({ stdout }) => ({ code: 0, output: stdout }),
        (error: { code?: number; stdout?: string; stderr?: string }) => ({
          code: error.code ?? 1,
          output: `${error.stdout ?? ''}\n${error.stderr ?? ''}`,
        }),
      );
      expect(code, output.slice(Math.max(0, output.search(FAULTS))).slice(0, MAX_SHOWN)).toBe(0);
      // All operations except the one that served the document.
      expect(output).toContain(`Tested: ${listOperations().length - 1}`);
      // The service still works after all requests.
      expect((await fetch(`${system.serverUrl}/healthz`)).status).toBe(200);
      const written = [...system.server.lines, ...system.daemon.lines].join('\n');
      expect(written).not.toContain(TOKEN);
      expect(written).not.toMatch(/"level":"fatal"|unhandled|internal_error/i);
    },
    DEADLINE_MS,
  );
});
