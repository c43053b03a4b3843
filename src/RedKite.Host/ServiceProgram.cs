using System.Text;
using RedKite.Persistence.Files;

namespace RedKite.Host;

/// <summary>
/// <c>redkite service install</c>: writes the unit for systemd and says what is left to do; on Windows it prints the command that has the program started with
/// the machine. It runs no other program and creates no user. The unit and the configuration are those of packaging/. Exit status 0: done. 1: it cannot be. 2: wrong arguments.
/// </summary>
internal sealed class ServiceProgram
{
    private const int Done = 0;
    private const int Refused = 1;
    private const int WrongArguments = 2;

    private const string Usage = """
        Usage: redkite service install [option ...]
               redkite service config            prints a configuration to begin with

        Writes a systemd unit that runs this program, and prints the commands that are left to run. On Windows it prints
        the command that creates a task which starts the program with the machine.
          --dry-run        prints what it would write
          --config FILE    the configuration (default /etc/redkite/redkite.conf)
          --user NAME      the user that the server runs as (default redkite)
          --program FILE   the program (default: this one)
          --unit FILE      the file to write (default /etc/systemd/system/redkite.service)
        Exit status: 0 done, 1 refused, 2 wrong arguments.
        """;

    private const string UnitResource = "redkite.service";
    private const string ConfigResource = "redkite.conf";

    // The command line of the unit in packaging/, and what it says of the user.
    private const string UnitCommand = "ExecStart=/usr/local/bin/redkite /etc/redkite/redkite.conf";
    private const string UnitUser = "User=redkite\nGroup=redkite";
    private const string UnitFolder = "ReadWritePaths=-/etc/redkite\n";

    // ProtectHome and PrivateTmp keep these from the service.
    private static readonly string[] Hidden = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"];

    private readonly TextWriter _output;
    private bool _isDryRun;
    private string? _config;
    private string _user = "redkite";
    private string? _program;
    private string _unit = "/etc/systemd/system/redkite.service";

    private ServiceProgram(TextWriter output) => _output = output;

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return Done;
        }

        if (arguments is ["config"])
        {
            output.Write(Resource(ConfigResource));
            return Done;
        }

        var program = new ServiceProgram(output);
        try
        {
            program.Parse(arguments);
            return OperatingSystem.IsWindows() ? program.PrintTask() : program.Install();
        }
        catch (FormatException failure)
        {
            errors.WriteLine($"redkite service: {failure.Message}; redkite service --help");
            return WrongArguments;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            errors.WriteLine("redkite service: " + FileFailure.ReasonOf(failure));
            return Refused;
        }
    }

    private void Parse(string[] arguments)
    {
        if (arguments is not ["install", .. string[] options]) throw new FormatException(arguments.Length == 0 ? "what to do is missing" : $"'{arguments[0]}' is not known");
        for (int i = 0; i < options.Length; i++)
        {
            switch (options[i])
            {
                case "--dry-run": _isDryRun = true; break;
                case "--config": _config = Value(); break;
                case "--user": _user = Value(); break;
                case "--program": _program = Value(); break;
                case "--unit": _unit = Value(); break;
                default: throw new FormatException($"the option '{options[i]}' is not known");
            }

            string Value() => ++i < options.Length ? options[i] : throw new FormatException($"the option '{options[i - 1]}' needs a value");
        }

        if (_user.Length == 0 || !_user.All(static character => char.IsAsciiLetterOrDigit(character) || character is '-' or '_')) throw new FormatException($"'{_user}' is no name of a user");
    }

    private int Install()
    {
        if (!OperatingSystem.IsLinux()) throw new IOException("of this platform's service managers it knows none: only systemd and Windows");
        string[] command = [.. Command(), Path.GetFullPath(_config ?? "/etc/redkite/redkite.conf")];
        if (command.FirstOrDefault(static path => Hidden.Any(folder => path.StartsWith(folder, StringComparison.Ordinal))) is { } hidden)
        {
            throw new IOException($"'{hidden}' is in a folder that the unit keeps from the service (ProtectHome, PrivateTmp): copy it, for example to /usr/local/bin or /etc/redkite");
        }

        // What the system has in /etc itself is not the server's to write.
        string folder = Path.GetDirectoryName(command[^1])!;
        bool ownsFolder = folder is not ("/" or "/etc");
        string unit = Resource(UnitResource);
        unit = unit[(unit.IndexOf('\n', StringComparison.Ordinal) + 1)..] // its first line says how to copy it
            .Replace(UnitCommand, "ExecStart=" + string.Join(' ', command.Select(Quoted)), StringComparison.Ordinal)
            .Replace(UnitUser, $"User={_user}\nGroup={_user}", StringComparison.Ordinal)
            .Replace(UnitFolder, ownsFolder ? $"ReadWritePaths={Quoted("-" + folder)}\n" : "# ReadWritePaths: none, so CONFIG REWRITE is denied\n", StringComparison.Ordinal);
        if (_isDryRun)
        {
            _output.WriteLine($"# {_unit}");
            _output.Write(unit);
        }
        else
        {
            if (File.Exists(_unit) && File.ReadAllText(_unit) != unit) throw new IOException($"'{_unit}' exists and is another one: remove it first, or see the new one with --dry-run");
            File.WriteAllText(_unit, unit);
            _output.WriteLine($"'{_unit}' is written.");
        }

        _output.WriteLine();
        _output.WriteLine(_isDryRun ? "# Afterwards:" : "What is left to do:");
        string config = command[^1];
        _output.WriteLine($"  id {_user} || useradd --system --no-create-home {_user}");
        if (ownsFolder && !Directory.Exists(folder)) _output.WriteLine($"  install -d -m 750 -o {_user} -g {_user} {folder}     # CONFIG REWRITE writes there");
        if (!File.Exists(config)) _output.WriteLine($"  redkite service config | install -m 640 -o {_user} -g {_user} /dev/stdin {config}");
        _output.WriteLine("  systemctl daemon-reload");
        _output.WriteLine($"  systemctl enable --now {Path.GetFileNameWithoutExtension(_unit)}");
        return Done;
    }

    // The service manager of Windows ends programs that do not speak its protocol, as this one does not; a task needs none.
    private int PrintTask()
    {
        string[] command = _config is null ? Command() : [.. Command(), Path.GetFullPath(_config)];
        string line = string.Join(' ', command.Select(static part => $"\\\"{part}\\\""));
        _output.WriteLine($"schtasks /Create /TN RedKite /SC ONSTART /RU \"NT AUTHORITY\\LocalService\" /TR \"{line}\"");
        return Done;
    }

    private string[] Command()
    {
        if (_program is not null) return [Path.GetFullPath(_program)];
        string process = Environment.ProcessPath ?? throw new IOException("the program's path is not known: name it with --program");
        bool isHost = Path.GetFileNameWithoutExtension(process).Equals("dotnet", StringComparison.OrdinalIgnoreCase);
        return isHost ? [process, Path.Combine(AppContext.BaseDirectory, "redkite.dll")] : [process];
    }

    // As systemd reads a word of a command line.
    private static string Quoted(string word)
    {
        string escaped = word.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("%", "%%", StringComparison.Ordinal).Replace("$", "$$", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal);
        return escaped.Any(static character => character is ' ' or '\'' or ';' or '"' or '\\') ? $"\"{escaped}\"" : escaped;
    }

    private static string Resource(string name)
    {
        using var reader = new StreamReader(typeof(ServiceProgram).Assembly.GetManifestResourceStream(name)!, Encoding.UTF8);
        return reader.ReadToEnd().ReplaceLineEndings("\n");
    }
}
