import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { matchesGlob } from 'node:path/posix';
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { closestName } from '../../../src/platform/config/closest-name.ts';
import { describeConfiguration } from '../../../src/platform/config/configuration-key.ts';
import { createGlobFilter, globProblem } from '../../../src/platform/config/glob-filter.ts';
import { createGlobTest } from '../../../src/platform/config/glob.ts';
import { loadConfiguration } from '../../../src/platform/config/load-configuration.ts';
import {
  renderConfiguration,
  renderConfigurationHelp,
  renderConfigurationReference,
} from '../../../src/platform/config/render-configuration.ts';
import {
  ConfigurationProblems,
  readConfigurationFile,
  runConfigured,
} from '../../../src/platform/config/run-configured.ts';
import { campaignSize } from '../../support/long.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const REQUIRED =
  'publicBaseUrl: https://a.example\nsnapshot: { root: /snapshot }\nkeys: { files: [a.pub] }\n';

describe('the configuration of a program', () => {
  const schema = z.strictObject({
    listen: z
      .strictObject({
        host: z.string().default('127.0.0.1').describe('Address to listen on.'),
        port: z.int().min(0).max(65_535).default(8080).describe('TCP port.'),
      })
      .prefault({}),
    publicBaseUrl: z.string().min(1).describe('Where clients reach it.'),
    snapshot: z.strictObject({ root: z.string().min(1).describe('The volume.') }),
    keys: z.strictObject({ files: z.array(z.string().min(1)).min(1), exposed: z.boolean().default(false) }),
    ratio: z.number().optional(),
    upstream: z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('none') }),
        z.strictObject({ kind: z.literal('folder'), path: z.string() }),
      ])
      .default({ kind: 'none' }),
  });

  function load(
    sources: { argv?: string[]; env?: Record<string, string>; file?: string | null } = {},
  ): ReturnType<typeof loadConfiguration<typeof schema>> {
    const { argv = [], env = {}, file = REQUIRED } = sources;
    return loadConfiguration({
      schema,
      name: 'program',
      argv: file === null ? argv : ['--config', 'c.yaml', ...argv],
      env,
      readFile: () => file ?? '',
    });
  }

  function configOf(sources: Parameters<typeof load>[0]): z.output<typeof schema> {
    const loaded = load(sources);
    if (!loaded.ok) throw new Error(loaded.error.join('\n'));
    return loaded.value.config;
  }

  function problemsOf(sources: Parameters<typeof load>[0]): readonly string[] {
    const loaded = load(sources);
    expect(loaded.ok).toBe(false);
    return loaded.ok ? [] : loaded.error;
  }

  describe('the order of sources', () => {
    it('is defaults, file, environment, flags', () => {
      const file = `${REQUIRED}listen: { host: from-file, port: 1 }`;
      expect(configOf({}).listen).toEqual({ host: '127.0.0.1', port: 8080 });
      expect(configOf({ file }).listen).toEqual({ host: 'from-file', port: 1 });
      expect(configOf({ file, env: { SLIPWAY_LISTEN_PORT: '2' } }).listen).toEqual({
        host: 'from-file',
        port: 2,
      });
      expect(configOf({ file, env: { SLIPWAY_LISTEN_PORT: '2' }, argv: ['--listen.port=3'] }).listen).toEqual(
        {
          host: 'from-file',
          port: 3,
        },
      );
    });

    it('needs no file', () => {
      const env = { SLIPWAY_PUBLIC_BASE_URL: 'u', SLIPWAY_SNAPSHOT_ROOT: '/s', SLIPWAY_KEYS_FILES: 'a, b,c' };
      expect(configOf({ file: null, env })).toMatchObject({
        publicBaseUrl: 'u',
        snapshot: { root: '/s' },
        keys: { files: ['a', 'b', 'c'], exposed: false },
      });
    });

    it('reads JSON files, and empty sections', () => {
      const file = '{"publicBaseUrl":"u","snapshot":{"root":"/s"},"keys":{"files":["a"]},"listen":null}';
      expect(configOf({ file }).listen.port).toBe(8080);
    });

    it('names the file, and whether to print', () => {
      const loaded = load({ argv: ['--print-config'] });
      expect(loaded.ok && [loaded.value.configFile, loaded.value.printRequested]).toEqual(['c.yaml', true]);
    });
  });

  describe('flags', () => {
    it('take a value after = or as the next word, and repeat for lists', () => {
      const argv = ['--snapshot.root', '/a=b', '--keys.files=x,y', '--keys.files', 'z', '--ratio=-1.5e2'];
      expect(configOf({ argv })).toMatchObject({
        snapshot: { root: '/a=b' },
        keys: { files: ['x', 'y', 'z'] },
        ratio: -150,
      });
    });

    it.each([
      [['--keys.exposed'], true],
      [['--keys.exposed', '--ratio=1'], true],
      [['--keys.exposed', 'false'], false],
      [['--keys.exposed=true'], true],
    ])('%j switches a boolean to %s', (argv, exposed) => {
      expect(configOf({ argv }).keys.exposed).toBe(exposed);
    });

    it.each([
      [['--nope'], 'flag --nope: unknown flag; --help lists all'],
      [['--nope', 'value'], 'flag --nope: unknown flag; --help lists all'],
      [['--listen.prot=1'], 'flag --listen.prot: unknown flag; did you mean --listen.port?'],
      [['--snapshot'], 'flag --snapshot: unknown flag; --help lists all'],
      [['--listen.port'], 'flag --listen.port: needs a value, as in --listen.port=VALUE'],
      [['--listen.port=1', '--listen.port=2'], 'flag --listen.port: given twice; give it once'],
      [['--listen.port=eighty'], 'flag --listen.port: must be a decimal number'],
      [['--listen.port=0x50'], 'flag --listen.port: must be a decimal number'],
      [['--keys.exposed=yes'], 'flag --keys.exposed: must be true or false'],
      [['--config=d.yaml'], 'flag --config: given twice; give one file'],
      [['--print-config=1'], 'flag --print-config: takes no value'],
    ])('%j is a problem', (argv, problem) => {
      expect(problemsOf({ argv })).toEqual([problem]);
    });

    it('must not be bare words', () => {
      expect(problemsOf({ argv: ['serve'] })[0]).toMatch(/^argument "serve": unexpected/);
    });
  });

  describe('the environment', () => {
    it.each([
      ['SLIPWAY_LISTEN_PROT', 'unknown variable; --help lists all'],
      ['SLIPWAY_PUBLIC_BASEURL', 'unknown variable; did you mean SLIPWAY_PUBLIC_BASE_URL?'],
      ['SLIPWAY_LISTEN_PORT', 'must be a decimal number'],
    ])('%s is a problem', (name, problem) => {
      expect(problemsOf({ env: { [name]: 'x' } })).toEqual([`environment ${name}: ${problem}`]);
    });

    it('ignores variables of other programs, and those that Kubernetes sets for Services', () => {
      const env = {
        PATH: '/bin',
        SLIPWAY_RETENTION_KEEP: '3',
        SLIPWAY_LISTEN_PORT: 'tcp://10.0.0.1:8080',
        SLIPWAY_LISTEN_SERVICE_HOST: '10.0.0.1',
        SLIPWAY_LISTEN_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
        SLIPWAY_LISTEN_PORT_8080_TCP_ADDR: '10.0.0.1',
      };
      expect(configOf({ env }).listen.port).toBe(8080);
    });
  });

  describe('problems', () => {
    it('are all reported together, each with its source, key and purpose', () => {
      const problems = problemsOf({
        file: 'listen: { port: 70000, hots: x }\nsnapshot: { root: "" }\ncolour: blue\nkeys: { files: [a, ""] }\n',
        env: { SLIPWAY_RATIO: 'half' },
        argv: ['--listen.host', '', '--nope'],
      });
      expect(problems).toEqual([
        'environment SLIPWAY_RATIO: must be a decimal number',
        'flag --nope: unknown flag; --help lists all',
        'config file c.yaml: listen.port: too big: expected number to be <=65535 (got 70000). TCP port.',
        'config file c.yaml: listen.hots: unknown key; did you mean "host"?',
        'config file c.yaml: publicBaseUrl: is required; set it in the file, as SLIPWAY_PUBLIC_BASE_URL or as --publicBaseUrl=VALUE. Where clients reach it.',
        'config file c.yaml: snapshot.root: too small: expected string to have >=1 characters (got ""). The volume.',
        'config file c.yaml: keys.files.1: too small: expected string to have >=1 characters (got "")',
        'config file c.yaml: colour: unknown key; --help lists all keys',
      ]);
    });

    it('name the known keys of an item of a list', () => {
      const rules = z.strictObject({
        rules: z
          .array(z.strictObject({ from: z.string(), target: z.string().optional() }))
          .describe('Rules.'),
      });
      const loaded = loadConfiguration({
        schema: rules,
        name: 'program',
        argv: ['--config', 'c.yaml'],
        env: {},
        readFile: () => 'rules: [{ from: a, targt: b }, { colour: red }]',
      });
      expect(loaded.ok ? [] : loaded.error).toEqual([
        'config file c.yaml: rules.0.targt: unknown key; did you mean "target"?',
        'config file c.yaml: rules.1.from: is required. Rules.',
        'config file c.yaml: rules.1.colour: unknown key; known: from, target',
      ]);
    });

    it('name the variable or flag that gave the value', () => {
      expect(problemsOf({ env: { SLIPWAY_LISTEN_PORT: '-1' }, argv: ['--keys.files=,'] })).toEqual([
        expect.stringMatching(/^environment SLIPWAY_LISTEN_PORT: too small/) as string,
        expect.stringMatching(/^flag --keys\.files: too small/) as string,
      ]);
    });

    it('name the keys of a section that is missing', () => {
      const problems = problemsOf({ file: 'publicBaseUrl: u' });
      expect(problems.map((line) => line.split(': ')[1])).toEqual(['snapshot.root', 'keys.files']);
    });

    it('do not report a key as missing if its value or file could not be read', () => {
      expect(problemsOf({ file: REQUIRED.replace('{ root: /snapshot }', '5') })).toEqual([
        'config file c.yaml: snapshot: is a section; write its keys below it',
      ]);
      expect(problemsOf({ file: 'a: [1' })).toHaveLength(1);
    });

    it('name line and column of a syntax error, and refuse a duplicate key', () => {
      const [problem] = problemsOf({ file: `${REQUIRED}ratio: 1\nratio: 2\n` });
      expect(problem).toMatch(/^config file c\.yaml: line 5, column 1: .*unique/i);
    });

    it('report a file that cannot be read', () => {
      const loaded = loadConfiguration({
        schema,
        name: 'program',
        argv: ['--config', '/nonexistent'],
        env: {},
        readFile: () => {
          throw new Error('ENOENT: no such file');
        },
      });
      expect(loaded).toEqual({
        ok: false,
        error: ['config file /nonexistent: cannot be read: ENOENT: no such file'],
      });
    });

    it('of a union are those of its variant', () => {
      expect(problemsOf({ file: `${REQUIRED}upstream: { kind: pigeon }` })[0]).toContain('upstream.kind');
      expect(problemsOf({ file: `${REQUIRED}upstream: { kind: folder }` })[0]).toContain(
        'upstream.path: is required',
      );
      expect(configOf({ argv: ['--upstream.kind=folder', '--upstream.path=/x'] }).upstream).toEqual({
        kind: 'folder',
        path: '/x',
      });
    });

    it('never show a secret or the credentials of a URL', () => {
      const secretSchema = z.strictObject({
        password: z.string().max(3).meta({ secret: true }),
        url: z.string().max(3),
      });
      const loaded = loadConfiguration({
        schema: secretSchema,
        name: 'program',
        argv: ['--password=canary', '--url=https://user:canary@host/path?token=canary'],
        env: {},
        readFile: () => '',
      });
      expect(loaded.ok).toBe(false);
      expect(JSON.stringify(loaded)).not.toContain('canary');
      expect(JSON.stringify(loaded)).toContain('host/path');
    });

    it('are found in a file whose aliases expand without end', () => {
      const bomb = ['a0: &a0 [x, x]']
        .concat(Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`))
        .join('\n');
      expect(problemsOf({ file: bomb })[0]).toMatch(/^config file c\.yaml: .*alias/i);
    });

    it('do not let a file reach a prototype', () => {
      problemsOf({
        file: `${REQUIRED}__proto__: { polluted: true }\nlisten: { __proto__: { polluted: true } }`,
      });
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    });
  });
});

describe('the text of a configuration', () => {
  const schema = z.strictObject({
    listen: z
      .strictObject({ port: z.int().min(0).max(65_535).default(80).describe('TCP | port.') })
      .prefault({}),
    mode: z.enum(['a', 'b']).default('a').describe('Which way.'),
    proxy: z.string().optional().describe('A proxy.'),
    urls: z.array(z.string()).default([]).describe('Some URLs.'),
    secret: z.string().meta({ secret: true, description: 'A password.' }),
  });

  describe('describeConfiguration', () => {
    it('lists every key with its variable', () => {
      const { keys, sections } = describeConfiguration(schema);
      expect(keys.map(({ name, env, required }) => [name, env, required])).toEqual([
        ['listen.port', 'SLIPWAY_LISTEN_PORT', false],
        ['mode', 'SLIPWAY_MODE', false],
        ['proxy', 'SLIPWAY_PROXY', false],
        ['urls', 'SLIPWAY_URLS', false],
        ['secret', 'SLIPWAY_SECRET', true],
      ]);
      expect(sections.map(({ name }) => name)).toEqual(['listen']);
    });

    it('refuses a schema with two keys for one variable', () => {
      const ambiguous = z.strictObject({ aB: z.string(), a: z.strictObject({ b: z.string() }) });
      expect(() => describeConfiguration(ambiguous)).toThrow('aB and a.b share the variable SLIPWAY_A_B');
    });
  });

  describe('renderConfiguration', () => {
    it('prints YAML without secrets, credentials and queries', () => {
      const text = renderConfiguration(schema, {
        listen: { port: 80 },
        mode: 'b',
        proxy: 'http://user:canary@proxy.example:3128/path?key=canary',
        urls: ['https://a.example/x', 'https://canary@b.example/#canary', 'no url: canary-free? yes'],
        secret: 'canary',
      });
      expect(parse(text)).toEqual({
        listen: { port: 80 },
        mode: 'b',
        proxy: 'http://[redacted]@proxy.example:3128/path?[redacted]',
        urls: ['https://a.example/x', 'https://[redacted]@b.example/#[redacted]', 'no url: canary-free? yes'],
        secret: '[redacted]',
      });
    });
  });

  describe('renderConfigurationHelp', () => {
    it('lists every key with type, default, variable and description', () => {
      const text = renderConfigurationHelp(schema, 'program');
      expect(text).toContain('Usage: program ');
      expect(text).toContain(
        '--listen.port=<integer 0 to 65535>\n      TCP | port.\n      default 80; SLIPWAY_LISTEN_PORT',
      );
      expect(text).toContain('--secret=<string>\n      A password.\n      required; SLIPWAY_SECRET');
    });
  });

  describe('renderConfigurationReference', () => {
    it('renders an aligned table', () => {
      expect(renderConfigurationReference(schema, 'Program')).toBe(
        [
          '## Program',
          '',
          '| Key           | Type               | Default  | Environment           | Description  |',
          '| ------------- | ------------------ | -------- | --------------------- | ------------ |',
          '| `listen.port` | integer 0 to 65535 | 80       | `SLIPWAY_LISTEN_PORT` | TCP \\| port. |',
          '| `mode`        | a or b             | "a"      | `SLIPWAY_MODE`        | Which way.   |',
          '| `proxy`       | string             | not set  | `SLIPWAY_PROXY`       | A proxy.     |',
          '| `urls`        | list of string     | []       | `SLIPWAY_URLS`        | Some URLs.   |',
          '| `secret`      | string             | required | `SLIPWAY_SECRET`      | A password.  |',
          '',
        ].join('\n'),
      );
    });
  });
});

describe('a program with a configuration', () => {
  const schema = z.strictObject({ port: z.int().default(80).describe('Port.'), root: z.string() });

  async function run(argv: string[], start: (port: number) => Promise<void> = async () => undefined) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runConfigured({
      schema,
      name: 'program',
      argv,
      env: {},
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
      start: async ({ config }) => {
        await start(config.port);
      },
    });
    return { code, out: out.join(''), err: err.join('') };
  }

  describe('runConfigured', () => {
    it('starts the program with its configuration', async () => {
      const ports: number[] = [];
      const result = await run(['--root=/r', '--port=5'], async (port) => {
        ports.push(port);
      });
      expect([result.code, result.err, ports]).toEqual([null, '', [5]]);
    });

    it('prints one line for each problem and gives 78', async () => {
      const { code, err } = await run(['--port=x', '--nope']);
      expect(code).toBe(78);
      expect(err.trimEnd().split('\n')).toEqual([
        'program: flag --port: must be a decimal number',
        'program: flag --nope: unknown flag; --help lists all',
        expect.stringContaining('program: configuration: root: is required') as string,
      ]);
    });

    it('does the same for problems at the start, and passes on other errors', async () => {
      const { code, err } = await run(['--root=/r'], async () => {
        throw new ConfigurationProblems(['root: the folder\ndoes not exist']);
      });
      expect([code, err]).toEqual([78, 'program: root: the folder does not exist\n']);
      const broken = run(['--root=/r'], async () => {
        throw new Error('broken');
      });
      await expect(broken).rejects.toThrow('broken');
    });

    it('prints help even when the rest is wrong, and the configuration without starting', async () => {
      const help = await run(['--nope', '--help']);
      expect([help.code, help.err]).toEqual([0, '']);
      expect(help.out).toContain('SLIPWAY_ROOT');
      const started: number[] = [];
      const printed = await run(['--root=/r', '--print-config'], async (port) => {
        started.push(port);
      });
      expect([printed.code, printed.out, started]).toEqual([0, 'port: 80\nroot: /r\n', []]);
    });
  });

  describe('readConfigurationFile', () => {
    it('reads regular files of UTF-8 up to its bound', async () => {
      const directory = await temporaryDirectory();
      const file = join(directory, 'c.yaml');
      await writeFile(file, 'größe: 1');
      expect(readConfigurationFile(file)).toBe('größe: 1');
      expect(() => readConfigurationFile(directory)).toThrow('not a regular file');
      await writeFile(file, Buffer.alloc(1024 * 1024 + 1));
      expect(() => readConfigurationFile(file)).toThrow('larger than');
      await writeFile(file, Buffer.from([0xff]));
      expect(() => readConfigurationFile(file)).toThrow();
    });
  });
});

const NAMES = ['listen.port', 'listen.host', 'publicBaseUrl', 'kind', 'e'];

describe('closestName', () => {
  it.each([
    ['listen.prot', 'listen.port'],
    ['listen.hosts', 'listen.host'],
    ['publicbaseurl', 'publicBaseUrl'],
    ['publicBaseURI', 'publicBaseUrl'],
    ['kidn', 'kind'],
    ['colour', null],
    ['x', null],
    ['', null],
    ['listen.port'.repeat(100), null],
  ])('%s means %s', (written, meant) => {
    expect(closestName(written, NAMES)).toBe(meant);
  });
});

const RUNS = campaignSize(500, 10_000);

describe('a glob', () => {
  it.each<[glob: string, matching: string[], others: string[]]>([
    ['**', ['a', 'a/b/c', '.a/.b'], []],
    ['*', ['a', '.a'], ['a/b']],
    ['a/**', ['a/b', 'a/b/c'], ['a', 'ab/c', 'b/a/c']],
    ['**/*.zip', ['a.zip', 'a/b.zip', 'a/b/.zip'], ['a.zip/b', 'a.zipx']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb', 'a/b/x', 'x/a/b']],
    ['**/a/**/**/b', ['a/b', 'x/a/y/b'], ['b', 'a']],
    ['*/catalog_[A-Z]*.zip', ['a/catalog_Ab.zip'], ['a/catalog_ab.zip', 'catalog_A.zip']],
    ['a[!b-d^-]?', ['aex', 'a😀😀'], ['abx', 'acx', 'a^x', 'a-x', 'a/x', 'ae']],
    ['[^a]', ['b'], ['a', '/']],
    ['{Android,iOS}_PatchPack/**', ['iOS_PatchPack/a'], ['Windows_PatchPack/a', 'iOS_PatchPack']],
    ['{a,b/{c,d*},**/e}.{x,y}', ['a.x', 'b/c.y', 'b/d1.x', 'q/e.y', 'e.x'], ['b/.x', 'a.z', 'c.x']],
    ['x{,/y}', ['x', 'x/y'], ['y']],
    ['\\[x\\]\\*,\\{', ['[x]*,{'], ['[x]a,{', 'x']],
    ['[\\]\\[*]', [']', '[', '*'], ['a']],
  ])('%s', (glob, matching, others) => {
    const test = createGlobTest(glob);
    expect(matching.filter((path) => !test(path))).toEqual([]);
    expect(others.filter((path) => test(path))).toEqual([]);
  });

  it('matches the same paths as the globs of Node', () => {
    const globs = array(constantFrom('a', 'b', 'c', '/', '*', '?', '**/', '/**', '[ab]', '[!a]', '{a,bc}'), {
      minLength: 1,
      maxLength: 8,
    });
    const path = array(constantFrom('a', 'b', 'c', '/'), { minLength: 1, maxLength: 8 });
    const isPath = (text: string): boolean => text.split('/').every((segment) => segment !== '');
    let compared = 0;
    assert(
      property(globs, array(path, { minLength: 20, maxLength: 20 }), (tokens, texts) => {
        const glob = tokens.join('');
        if (globProblem(glob) !== null) return;
        const test = createGlobTest(glob);
        for (const text of texts.map((letters) => letters.join('')).filter(isPath)) {
          expect([glob, text, test(text)]).toEqual([glob, text, matchesGlob(text, glob)]);
          compared += 1;
        }
      }),
      { numRuns: RUNS },
    );
    expect(compared).toBeGreaterThan(2.5 * RUNS);
  });

  it.each([
    ['', 'segment'],
    ['/a', 'relative'],
    ['a/', 'segment'],
    ['a//b', 'segment'],
    ['./a', 'segment'],
    ['a{/,b}/c', 'segment'],
    ['!a', 'exclude'],
    ['!(a)', 'exclude'],
    ['+(a)', '"("'],
    ['a)', '")"'],
    ['a}', '"}"'],
    ['a]', '"]"'],
    ['a|b', '"|"'],
    ['[', '"]"'],
    ['[]', 'without characters'],
    ['[z-a]', 'range'],
    ['[a/b]', '"/"'],
    ['[[:alpha:]]', '"["'],
    ['{a,b', '"}"'],
    ['{a}', 'comma'],
    ['{1..3}', 'comma'],
    ['a\\', '"\\"'],
    ['a**', 'whole segment'],
    ['***', 'whole segment'],
    ['{a,b}'.repeat(9), '256'],
  ])('%j is refused', (glob, reason) => {
    expect(globProblem(glob)).toContain(reason);
  });

  it('takes bounded time, whatever upstream calls its files', () => {
    const names = Array.from({ length: 60 }, (_, index) => `a/${'-'.repeat(239 - (index % 2))}`);
    const exclude = [
      '**/*-*-*-*.bundle',
      '**/*-*-*-*-*-*-*-*-*-*-*-*-*-*.bundle',
      '**/**/*-*/**/*-*-*-*/**/x',
    ];
    const filter = createGlobFilter({ include: [], exclude });
    const start = performance.now();
    expect(names.filter((name) => filter?.(name))).toEqual(names);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
