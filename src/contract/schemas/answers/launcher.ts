import { z } from 'zod';
import { answer, type Answer } from './answer.ts';
import { EXAMPLE } from './common.ts';
import { VERDICT_EXAMPLE, VerdictSchema } from './verdict.ts';

/** `/v1/launcher/bootstrap`: the document behind the manifest URL, as launchers read it, and the distribution health. */
export const LauncherBootstrapAnswer = answer(
  z.object({
    source: z.string().describe('`/{cdn_host}/{release_id}`, to insert between CDN root and path.'),
    file: z.array(
      z.object({
        path: z.string().describe('`/` and the destination.'),
        hash: z
          .string()
          .regex(/^[0-9]{1,20}$/)
          .describe('CRC-64/XZ, unsigned decimal.'),
        size: z
          .string()
          .regex(/^[0-9]{1,16}$/)
          .describe('Bytes, decimal.'),
      }),
    ),
    distribution: VerdictSchema,
  }),
  {
    source: `/cdn.example.net/${EXAMPLE.releaseId}`,
    file: [{ path: `/${EXAMPLE.destination}`, hash: '11051210869376104954', size: '524288' }],
    distribution: VERDICT_EXAMPLE,
  },
);

/** `/api/launcher/game/config`: the twelve fields that real launchers read. */
export const LauncherGameConfigAnswer = envelope(
  z.object({
    game_lowest_version: z.string(),
    game_latest_version: z.string(),
    game_latest_file_path: z.string(),
    game_start_exe_name: z.string(),
    game_file_size: z.string(),
    game_file_size_type: z.string(),
    crc64: z.string(),
    size: z.int(),
    file_url: z.string(),
    decompression_size: z.string(),
    config_id: z.int(),
    game_start_params: z.array(z.string()),
  }),
  {
    game_lowest_version: '1.66.0',
    game_latest_version: '1.66.0',
    game_latest_file_path: 'prod/BlueArchive_JP-1.66.0-game.zip',
    game_start_exe_name: 'BlueArchive',
    game_file_size: '',
    game_file_size_type: '',
    crc64: '',
    size: 0,
    file_url: '',
    decompression_size: '6GB',
    config_id: 0,
    game_start_params: [],
  },
);

export type LauncherGameConfig = z.infer<typeof LauncherGameConfigAnswer.schema>;

/** `/api/launcher/game/config/json`. */
export const LauncherConfigJsonAnswer = envelope(
  z.object({ url: z.url().describe('The bootstrap JSON; launchers append a query to it.') }),
  { url: 'https://resources.example.org/v1/launcher/bootstrap' },
);

/** `/api/launcher/advanced/game/download/cdn`. */
export const LauncherCdnAnswer = envelope(
  z.object({
    back_up_cdn: z.url().describe('The public base URL.'),
    primary_cdn: z.url().describe('The public base URL.'),
  }),
  { back_up_cdn: 'https://resources.example.org', primary_cdn: 'https://resources.example.org' },
);

function envelope<T extends z.ZodObject>(
  data: T,
  example: z.input<T>,
): Answer<z.ZodObject<{ code: z.ZodLiteral<200>; data: T; msg: z.ZodLiteral<'OK'> }, z.core.$strict>> {
  const schema = z.strictObject({ code: z.literal(200), data, msg: z.literal('OK') });
  return answer(schema, { code: 200, data: example, msg: 'OK' } as z.input<typeof schema>);
}
