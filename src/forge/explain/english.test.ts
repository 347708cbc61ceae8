import { describe, expect, it } from 'vitest';
import { inEnglish } from './english.ts';
import { explain } from './explain.ts';

describe('what the system says in other languages', () => {
  it.each([
    [
      'OSError: libcudart.so.12: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden',
      'OSError: libcudart.so.12: cannot open shared object file: No such file or directory',
    ],
    ['bash: nvcc : commande introuvable', 'bash: nvcc: command not found'],
    ['bash: nvidia-smi：未找到命令', 'bash: nvidia-smi: command not found'],
    ['Speicherzugriffsfehler (Speicherabzug geschrieben)', 'Segmentation fault (core dumped)'],
  ])('reads %s as English', (said, english) => {
    expect(inEnglish(said)).toBe(english);
  });

  it('leaves a line alone that holds none of those words', () => {
    const lines = ['  File "模型：a.py", line 3 : 4', 'Loading pipeline components... : 100%', 'n_gpu : 0'];
    for (const line of lines) expect(inEnglish(line)).toBe(line);
  });

  it.each([
    ['bash: nvcc : commande introuvable', 'nvcc-missing'],
    ['bash: nvcc: orden no encontrada', 'nvcc-missing'],
    ['OSError: libcudart.so.11.0: 无法打开共享对象文件: 没有那个文件或目录', 'cuda-lib-missing'],
  ])('answers %s', (said, code) => {
    expect(explain(said).map((answer) => answer.code)).toContain(code);
  });
});
