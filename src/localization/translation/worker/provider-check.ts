import { messageOf } from '../../../platform/errors.ts';
import { findWeakTokenFiles, readTokenFile } from '../../../platform/files/token-file.ts';
import type { DoctorFinding } from '../../../engine/check.ts';
import { readCharacterSheet } from '../providers/character-sheet.ts';
import type { WorkerConfiguration } from './worker-config.ts';

/** The check `translation.providers`: what runs of workers need is there, and its secrets are kept well. */
export async function checkProviders({
  provider,
  providers,
  charactersFile,
}: WorkerConfiguration): Promise<DoctorFinding> {
  const entries = Object.entries(providers);
  const tokenFiles = [...new Set(entries.flatMap(([, { tokenFile }]) => tokenFile ?? []))];
  const problems = [
    ...(await Promise.all(tokenFiles.map(unreadable))).flat(),
    ...(charactersFile === undefined ? [] : await sheetProblems(charactersFile)),
  ];
  if (problems.length > 0) return { status: 'failing', message: problems.join('; ') };
  const weak = await findWeakTokenFiles(tokenFiles);
  if (weak.length > 0) return { status: 'degraded', message: weak.join('; ') };
  const names = entries.map(([name, { kind }]) => `${name} (${kind})`).join(', ');
  const usual =
    provider === undefined ? 'runs must name one: translation.provider is not set' : `runs use ${provider}`;
  return {
    status: 'ok',
    message:
      entries.length === 0
        ? 'no provider is configured; translation-worker-run can use fixture and memory-only'
        : `configured: ${names}; ${usual}`,
  };
}

async function unreadable(path: string): Promise<readonly string[]> {
  try {
    await readTokenFile(path);
    return [];
  } catch (error) {
    return [`the API key cannot be used: ${messageOf(error)}`];
  }
}

async function sheetProblems(path: string): Promise<readonly string[]> {
  try {
    await readCharacterSheet(path);
    return [];
  } catch (error) {
    return [`the character sheet cannot be used: ${messageOf(error)}`];
  }
}
