import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the part of the heap for new objects as small as it is now, instead of letting it grow with the rate of
 * allocation. For a process whose new objects are small and die at once while the memory they hold outside of the heap
 * (received chunks) is large: a larger space would only delay freeing that. Call it first of all.
 *
 * Source: V8 flag `semi_space_growth_factor`, read each time the space would grow.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
