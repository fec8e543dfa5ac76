import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfiguration } from '../../../../src/platform/config/load-configuration.ts';

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

const REQUIRED =
  'publicBaseUrl: https://a.example\nsnapshot: { root: /snapshot }\nkeys: { files: [a.pub] }\n';

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
    expect(configOf({ file, env: { SLIPWAY_LISTEN_PORT: '2' }, argv: ['--listen.port=3'] }).listen).toEqual({
      host: 'from-file',
      port: 3,
    });
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
      rules: z.array(z.strictObject({ from: z.string(), target: z.string().optional() })).describe('Rules.'),
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
