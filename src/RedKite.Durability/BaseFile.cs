using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;

namespace RedKite.Server.Durability;

/// <summary>
/// A base of the append-only file that is being written. A snapshot writes it in RDB form; a base of commands (aof-use-rdb-preamble no)
/// is converted from that at its end, and needs the disk space of both until then.
/// </summary>
internal sealed class BaseFile : IDisposable
{
    private readonly IFiles _files;
    private readonly string _folder;
    private readonly DumpOptions _options;
    private readonly KeylessData _keyless;
    private readonly long _beganSeconds;
    private FileReplacement? _commands;

    /// <param name="files">The file system.</param>
    /// <param name="folder">The folder of the append-only file.</param>
    /// <param name="options">How it is written.</param>
    /// <param name="keyless">What there may be beside keys.</param>
    /// <param name="isRdb">Whether it stays in RDB form.</param>
    /// <param name="beganSeconds">The Unix time with which a base of commands begins (aof-timestamp-enabled); 0: none.</param>
    internal BaseFile(IFiles files, string folder, DumpOptions options, KeylessData keyless, bool isRdb, long beganSeconds)
    {
        (_files, _folder, _options, _keyless, IsRdb, _beganSeconds) = (files, folder, options, keyless, isRdb, beganSeconds);
        Dump = new DumpFile(files, folder, options);
    }

    /// <summary>The data in RDB form.</summary>
    internal DumpFile Dump { get; }

    internal bool IsRdb { get; }

    internal long Bytes => _commands?.Length ?? Dump.Bytes;

    /// <summary>Ends the data and syncs it.</summary>
    internal void End()
    {
        Dump.End();
        if (!IsRdb) Convert();
    }

    /// <summary>Ends the data unless it has ended, syncs it, and gives the file its name.</summary>
    internal void Commit(string name)
    {
        if (!IsRdb && _commands is null) End();
        if (_commands is null) Dump.Commit(name);
        else _commands.Commit(name);
    }

    public void Dispose()
    {
        _commands?.Dispose();
        Dump.Dispose();
    }

    private void Convert()
    {
        _commands = new FileReplacement(_files, _folder, $"temp-{Environment.ProcessId}.aof", _options.SyncsWhileGrowing);
        using IOpenFile dump = _files.OpenRead(Dump.TemporaryPath);
        var output = new CommandOutput(_commands.Append);
        if (_beganSeconds > 0) output.Line(Encoding.ASCII.GetBytes(FormattableString.Invariant($"#TS:{_beganSeconds}\r\n")));
        try
        {
            CommandBase.Convert(dump, output, (batch, in item) => _keyless.RecordOf(batch, item)?.LoadRequest(replaces: false));
        }
        catch (RdbFileException failure)
        {
            // The disk does not return what was just written.
            throw new FileFailure("read", failure.Path, FileFailure.InputOutput, $"at byte {failure.Offset}: {failure.Reason}");
        }

        output.Flush();
        _commands.Sync();
    }
}
