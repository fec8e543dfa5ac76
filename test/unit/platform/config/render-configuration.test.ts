import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeConfiguration } from '../../../../src/platform/config/configuration-key.ts';
import {
  renderConfiguration,
  renderConfigurationHelp,
  renderConfigurationReference,
} from '../../../../src/platform/config/render-configuration.ts';

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
