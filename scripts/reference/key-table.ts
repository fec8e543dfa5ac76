import type { z } from 'zod';
import { describeConfiguration } from '../../src/platform/config/configuration-key.ts';
import { renderDefault, renderType } from '../../src/platform/config/render-configuration.ts';
import { table } from './markdown.ts';

/** The keys of one object of the configuration. @throws Error that names every key without a description */
export function keyTable(schema: z.ZodType): string {
  const { keys } = describeConfiguration(schema);
  const bare = keys.filter(({ description }) => description === '').map(({ name }) => name);
  if (bare.length > 0) throw new Error(`give these keys a description: ${bare.join(', ')}`);
  return table(
    ['Key', 'Type', 'Default', 'Description'],
    keys.map((key) => [
      `\`${key.name}\``,
      renderType(key),
      renderDefault(key).replace(/^default /, ''),
      key.description,
    ]),
  );
}
