document.title = 'GPUForge Studio';
