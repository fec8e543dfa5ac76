/**
 * Lets real time pass, so that a test varies the point at which a kill falls.
 *
 * @param milliseconds at least
 */
export async function spin(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
