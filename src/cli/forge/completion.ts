// gpuforge completion bash | zsh | fish | powershell

import { Argument, type Command } from 'commander';

const examples = `
Examples:
  $ gpuforge completion bash > ~/.local/share/bash-completion/completions/gpuforge
  $ gpuforge completion zsh > "\${fpath[1]}/_gpuforge"
  $ gpuforge completion fish > ~/.config/fish/completions/gpuforge.fish
  > gpuforge completion powershell >> $PROFILE`;

export function register(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish', 'powershell']))
    .addHelpText('after', examples)
    .action(async (name: 'bash' | 'zsh' | 'fish' | 'powershell') => {
      const [{ shells }, { treeOf }] = await Promise.all([
        import('../../forge/completion/shells.ts'),
        import('../../forge/completion/tree.ts'),
      ]);
      process.stdout.write(shells[name](treeOf(program)));
    });
}
