import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ConfigurationProblems,
  readConfigurationFile,
  runConfigured,
} from '../../../../src/platform/config/run-configured.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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
