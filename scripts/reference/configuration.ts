import type { z } from 'zod';
import { describeConfiguration } from '../../src/platform/config/configuration-key.ts';
import { renderConfigurationReference } from '../../src/platform/config/render-configuration.ts';
import { EXIT_CONFIGURATION } from '../../src/platform/config/run-configured.ts';
import { daemonConfigurationSchema } from '../../src/daemon/settings/config.ts';
import { operatorConfigurationSchema } from '../../src/operator/config.ts';
import { serverConfigurationSchema } from '../../src/server/config/config.ts';

/** docs/reference/configuration.md. @throws Error that names every setting without a description */
export function renderConfigurationPage(): string {
  return `# Configuration

Generated from the configuration schemas by \`make docs\`; do not edit.

## Sources

Every setting of a program can come from four places. For each setting, a later source overrides an earlier one:

1. the default in the table;
2. the file named by \`--config FILE\`, YAML or JSON, at most 1 MiB;
3. the environment variable in the table;
4. the flag \`--KEY=VALUE\` or \`--KEY VALUE\`, such as \`--log.level=debug\`.

In a file, each dot of a key is a level: \`log.level\` is \`level\` in the mapping \`log\`. A flag for a list may be repeated.
Unknown keys are rejected, in every source.

In a variable or a flag, a list is a JSON array, or words separated by commas; a list of mappings and a mapping are JSON. The
value replaces the whole list or mapping of the file:

\`\`\`sh
export SLIPWAY_PARSE_SECRETS='{"excel-zip": "/etc/slipway/excel-zip.password"}'
export SLIPWAY_PARSE_RULES='[{"destination": ["TableBundles/*.zip"], "password": "excel-zip"}]'
\`\`\`

If the configuration is invalid, the program exits with code ${EXIT_CONFIGURATION} (\`EX_CONFIG\`) before it listens anywhere. It prints all
problems to standard error, one line each, with the source and the key. Unusable key files are reported the same way.

- \`--help\` prints every key with its type, default, variable and purpose, and exits with 0.
- \`--print-config\` prints the effective configuration as YAML and exits with 0. Credentials and queries of URLs are
  replaced by \`[redacted]\`. Keys and tokens are files, so they are not part of a configuration.

${reference(daemonConfigurationSchema, 'slipway-daemon')}
${reference(serverConfigurationSchema, 'slipway-server')}
${reference(operatorConfigurationSchema, 'slipway-operator')}`;
}

function reference(schema: z.ZodType, program: string): string {
  const bare = describeConfiguration(schema).keys.filter(({ description }) => description === '');
  if (bare.length > 0) {
    throw new Error(
      `${program}: give these settings a description: ${bare.map(({ name }) => name).join(', ')}`,
    );
  }
  return renderConfigurationReference(schema, program);
}
