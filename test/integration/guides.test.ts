import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { actionDefinition, isControlAction } from '../../src/contract/actions/actions.ts';
import { ctl } from '../support/ctl.ts';
import { startExampleService } from '../support/example-service.ts';
import { codeBlocks, commandsOf, splitWords } from '../support/guide-commands.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Why a command of a guide is not run here, and what runs it. */
const NOT_RUN: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(?:kubectl|helm)\b/, 'a cluster: test/e2e/cluster installs, upgrades, operates and removes'],
  [
    /^(?:make image|docker|kind|k3d|minikube) /,
    'an image, or a machine for containers: test/e2e/container builds one',
  ],
  [/\bmake run|^git clone /, 'another system: test/integration/dev.test.ts starts the demo'],
  [/^(?:skopeo|oras) /, 'a registry: test/cluster/registries.test.ts has one'],
  [/\bssh |^scp /, 'another machine'],
  [
    /^\/opt\/|^(?:sudo|cd|mkdir|chmod|cp|openssl|unzip|sqlite3|flatc|jq|echo|cat|curl|git|node|python|go |mono|mcs|systemctl|journalctl|useradd|install)\b|^\w+=/,
    'other programs, or a variable for them',
  ],
  [/^bin\/slipway-/, 'a program that runs until it is stopped: test/support/system.ts starts it'],
  [/^bin\/slipway (?:export|import) /, 'a volume: test/integration/bundles.test.ts has one'],
  [/^bin\/slipway verify /, 'a volume or a mirror: test/unit/cli has them'],
  [/^bin\/slipway manifest /, 'a folder: test/integration/static-mirrors.test.ts has one'],
  [/^bin\/slipway parse /, 'files of a game: test/integration/offline-parse.test.ts has them'],
  [
    /^bin\/slipway translations evaluate /,
    'a provider: test/integration/translation-evaluation.test.ts has one',
  ],
  [/^bin\/slipway keygen /, 'nothing: test/unit/cli runs it'],
  [/^bin\/slipway restore /, 'a stopped daemon: test/integration/backup.test.ts has one'],
  [/ logs -f\b/, 'a person who stops it: test/integration/ctl.test.ts follows a log'],
  [
    / (?:import|check) \S+\.\w+/,
    'files of translators: test/integration/translation-exchange.test.ts has them',
  ],
  [/_\.\.\./, 'ids of an installation, which the guide leaves out'],
  [
    / ctl (?:memory export|glossary mine|parse|texts diff|translations (?:set|accept))\b/,
    'the result of a job: memory, term-mining, parse and translation tests of this folder have them',
  ],
];

interface Step {
  readonly page: string;
  readonly command: string;
}

/** The commands of the how-to guides and the tutorials. The guide for clients has a test of its own. */
const STEPS: readonly Step[] = globSync('docs/{how-to,tutorials}/*.md', { cwd: ROOT })
  .filter((file) => !file.endsWith('write-a-client.md'))
  .toSorted()
  .flatMap((file) =>
    codeBlocks(readFileSync(join(ROOT, file), 'utf8')).flatMap(({ language, text }) => {
      const isShell = language === 'sh' || language === 'bash';
      const typed = isShell ? text : [...text.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line).join('\n');
      return (isShell || language === 'console' || language === '' ? commandsOf(typed) : []).map(
        (command) => ({
          page: basename(file, '.md'),
          command,
        }),
      );
    }),
  );

it('each command of the command line in a guide is accepted and answered as it is written', async () => {
  const service = await startExampleService({ refresh: true });
  const official = await service.store.addRelease({ releaseId: 'r1', files: { 'a.txt': 'bytes' } });
  const issuedAt = Math.floor(Date.now() / 1000);
  service.daemon.setEnvelope(service.store.attest({ version: 1, issuedAt, official }));
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
  const before = process.cwd();
  // Some commands write files beside them.
  process.chdir(await temporaryDirectory());
  onTestFinished(() => process.chdir(before));
  const env = { SLIPWAY_CTL_URL: service.url, SLIPWAY_CTL_TOKEN_FILE: service.tokenFile };
  const wrong: unknown[] = [];
  let ran = 0;
  for (const { page, command } of STEPS) {
    const [, rest] = /^(?:\w+=\$\()?(?:bin\/)?slipway ctl (.*?)(?:\)$|$)/s.exec(command) ?? [];
    if (rest === undefined || NOT_RUN.some(([pattern]) => pattern.test(command))) continue;
    ran += 1;
    const words = splitWords(rest) ?? [];
    const [, action = ''] = words;
    // At a terminal, people answer a question.
    const asks = isControlAction(action) && actionDefinition(action).destructive;
    const { code, out, err } = await ctl([...words, ...(asks ? ['--yes'] : [])], { env });
    if (code !== 0 || out === '') wrong.push({ page, command, code, out, err });
  }
  expect(wrong).toEqual([]);
  expect(ran).toBeGreaterThan(50);
});

it('each other command says why it is not run here', () => {
  const others = STEPS.filter(({ command }) => !/\bslipway ctl |^export /.test(command));
  expect(others.filter(({ command }) => !NOT_RUN.some(([pattern]) => pattern.test(command)))).toEqual([]);
  expect(NOT_RUN.filter(([pattern]) => !STEPS.some(({ command }) => pattern.test(command)))).toEqual([]);
});

it('each command for a cluster names its namespace, unless it is about the whole cluster', () => {
  const commands = STEPS.filter(({ command }) => /(?:^|\()(?:kubectl|helm) /.test(command));
  expect(commands.length).toBeGreaterThan(25);
  const unnamed = commands.filter(
    ({ command }) =>
      !/ (?:-n|--namespace) \S/.test(command) &&
      !/customresourcedefinition|^kubectl (?:create|delete) namespace /.test(command),
  );
  expect(unnamed).toEqual([]);
});

it('each table of ReleaseChannels has the columns of the definition', () => {
  const { spec } = parse(
    readFileSync(join(ROOT, 'charts/slipway/files/slipway.dev_releasechannels.yaml'), 'utf8'),
  ) as {
    readonly spec: {
      readonly versions: ReadonlyArray<{
        readonly additionalPrinterColumns: ReadonlyArray<{
          readonly name: string;
          readonly priority?: number;
        }>;
      }>;
    };
  };
  const columns = spec.versions.flatMap(({ additionalPrinterColumns }) => additionalPrinterColumns);
  const usual = columns.filter(({ priority = 0 }) => priority === 0).map(({ name }) => name.toUpperCase());
  const tables = globSync('docs/{how-to,tutorials}/*.md', { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^NAME +CHANNEL .*$/gm)].map(([line]) =>
      line.trim().split(/ +/),
    ),
  );
  expect(tables.length).toBeGreaterThan(1);
  for (const [, ...shown] of tables) expect(shown.slice(0, usual.length)).toEqual(usual);
});
