using System.Runtime.InteropServices;

namespace RedKite.Figures;

/// <summary>
/// Makes an interrupted program raise ProcessExit, whose handlers stop servers and delete temporary folders. By default the
/// runtime exits on these signals without raising it.
/// </summary>
internal sealed class ExitSignals : IDisposable
{
    private const int SignalStatus = 128;

    private readonly PosixSignalRegistration[] _registrations =
    [
        Register(PosixSignal.SIGHUP, 1), Register(PosixSignal.SIGINT, 2), Register(PosixSignal.SIGTERM, 15),
    ];

    public void Dispose()
    {
        foreach (PosixSignalRegistration registration in _registrations) registration.Dispose();
    }

    private static PosixSignalRegistration Register(PosixSignal signal, int number) => PosixSignalRegistration.Create(signal, context =>
    {
        context.Cancel = true;
        Environment.Exit(SignalStatus + number);
    });
}
